-- Harbor trials in the lake with the trajectory each left; the reward is what the trial states, never a verdict of ours.
-- grain: one trial; key: source_id
-- inputs: raw_records (source_kind harbor.trial), trajectories
create or replace view harbor_trials as
with results as (
    select source_id, session_id, cast(decode(raw) as json) as result, record_key
    from raw_records
    where source_kind = 'harbor.trial' and parse_status = 'ok' and raw is not null
    qualify version = max(version) over (partition by source_id)
),
main as (
    -- sub-agents of a run may share its session: the first trajectory is the run's own
    select session_id, min_by(trajectory_id, (branch, started_at, trajectory_id)) as trajectory_id
    from trajectories
    group by session_id
)
select
    results.source_id,
    results.result ->> '$.trial_name' as trial_name,
    results.result ->> '$.task_name' as task_name,
    results.result ->> '$.agent_info.name' as agent,
    results.result ->> '$.agent_info.model_info.name' as model,
    try_cast(
        coalesce(results.result ->> '$.verifier_result.rewards.reward', results.result ->> '$.verifier_result.reward')
        as double
    ) as stated_reward,
    results.result ->> '$.exception_info.exception_type' as exception_type,
    try_cast(results.result ->> '$.started_at' as timestamptz) as started_at,
    try_cast(results.result ->> '$.finished_at' as timestamptz) as finished_at,
    results.session_id,
    main.trajectory_id,
    results.record_key
from results
left join main using (session_id);
