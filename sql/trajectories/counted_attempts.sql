-- Counted attempts whose logs are in the lake, and those without exactly one main trajectory.
-- grain: one row
-- inputs: attempts, raw_records, trajectories
with ingested as (
    select distinct attempt_id
    from raw_records
    where attempt_id is not null and source_kind in ('openclaw.transcript', 'openclaw.jsonl', 'proxy.call')
),
mains as (
    select
        attempts.attempt_id,
        count(trajectories.trajectory_id) as found
    from attempts
    join ingested using (attempt_id)
    left join trajectories
        on trajectories.attempt_id = attempts.attempt_id
        and trajectories.branch = 0
        and (attempts.session_id is null or trajectories.session_id in (attempts.session_id, attempts.attempt_id))
    where attempts.counted
    group by attempts.attempt_id
)
select
    count(*) as counted,
    count(*) filter (found <> 1) as wrong
from mains;
