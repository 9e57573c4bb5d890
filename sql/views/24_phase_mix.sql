-- What the tool calls of each policy are for: explore, read, write, edit, run, check; external logs are grouped by model.
-- grain: one policy x phase; key: policy, phase
-- inputs: tool_calls, trajectories
create or replace view phase_mix as
with counts as (
    select
        coalesce(trajectories.policy, 'external log: ' || coalesce(trajectories.model, 'unknown model')) as policy,
        tool_calls.phase,
        count(*) as calls,
        count(distinct tool_calls.trajectory_id) as trajectories
    from tool_calls
    join trajectories using (trajectory_id)
    group by 1, 2
)
select
    policy,
    phase,
    calls,
    (sum(calls) over (partition by policy))::bigint as policy_calls,
    calls / sum(calls) over (partition by policy) as share,
    trajectories
from counts
order by policy, phase;
