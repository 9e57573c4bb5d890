-- Which attempts were graded more than once, and how did their score change?
-- inputs: verdicts
select
    attempt_id,
    count(*) as verdicts,
    list(round(score_code, 3) order by graded_at, verdict_id) as scores_in_order,
    arg_max(verifier_version, is_latest) as latest_verifier_version
from verdicts
group by attempt_id
having count(*) > 1
order by attempt_id;
