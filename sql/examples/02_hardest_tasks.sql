-- Which tasks are the hardest, and what do their attempts end with?
-- inputs: attempt_overview
select
    task_id,
    difficulty,
    count(score_code) as n,
    round(avg(score_code), 3) as mean_score,
    round(min(score_code), 3) as worst,
    list(distinct ending order by ending) as endings
from attempt_overview
where counted
group by task_id, difficulty
having count(score_code) > 0
order by mean_score, task_id
limit 10;
