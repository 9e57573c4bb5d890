-- What would the original reward.sh have said, beside our score?
-- It averages the verifier's own `reward` with its booleans.
-- inputs: verdicts, tasks
select
    tasks.verifier_protocol,
    count(*) as n,
    round(avg(verdicts.score_code), 4) as mean_score,
    round(avg(verdicts.wrapper_score), 4) as mean_wrapper_score,
    count(*) filter (abs(verdicts.wrapper_score - verdicts.score_code) > 0.000001) as differ
from verdicts
join tasks using (task_id, task_version)
where verdicts.is_latest and verdicts.status = 'scored' and verdicts.wrapper_score is not null
group by tasks.verifier_protocol
order by tasks.verifier_protocol;
