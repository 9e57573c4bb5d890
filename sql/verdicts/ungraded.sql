-- Attempts that came to an end and have no verdict, or not exactly one that is the latest.
-- grain: one attempt; key: attempt_id
-- inputs: attempts, tasks, verdicts
select attempts.attempt_id, attempts.ending, count(verdicts.verdict_id) as verdicts
from attempts
join tasks using (task_id, task_version)
left join verdicts using (attempt_id)
where attempts.ending_kind is not null
group by all
having count(*) filter (verdicts.is_latest) is distinct from 1
order by attempts.attempt_id;
