-- How a judge scored each rule of a rubric, sample by sample, with its reasons.
-- grain: one verdict x rule; key: verdict_id, rule
-- inputs: events (verdict.recorded)
create or replace view judgements as
with judged as (
    select
        payload ->> '$.verdict_id' as verdict_id,
        payload ->> '$.attempt_id' as attempt_id,
        payload ->> '$.task_id' as task_id,
        payload ->> '$.judge_version' as judge_version,
        (payload ->> '$.judgement.agreement')::double as agreement,
        unnest((payload -> '$.judgement.rules')::json[]) as given
    from events
    where type = 'verdict.recorded' and payload is not null
)
select
    verdict_id,
    attempt_id,
    task_id,
    judge_version,
    given ->> '$.name' as rule,
    (given ->> '$.weight')::double as weight,
    (given -> '$.scores')::double[] as scores,
    list_avg((given -> '$.scores')::double[]) as score,
    (given -> '$.reasons')::varchar[] as reasons,
    agreement
from judged;
