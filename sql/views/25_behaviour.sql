-- How each policy works: errors, recovery, looking at its own product, repeating itself; external logs by model.
-- grain: one policy; key: policy
-- inputs: trajectories, tool_calls, tool_failures, written_files
-- Each rate stands beside its denominator: errors / answered, recovered / failures_with_target, went_on / errors, verified / written,
-- repeated / calls (repeated: byte-equal to the call before it in the trajectory). Definitions are this project's own.
create or replace view behaviour as
with runs as (
    select coalesce(policy, 'external log: ' || coalesce(model, 'unknown model')) as policy, count(*) as trajectories
    from trajectories
    group by 1
),
ordered as (
    select
        coalesce(trajectories.policy, 'external log: ' || coalesce(trajectories.model, 'unknown model')) as policy,
        tool_calls.is_error,
        (tool_calls.tool, tool_calls.arguments) = lag((tool_calls.tool, tool_calls.arguments)) over (
            partition by tool_calls.trajectory_id order by tool_calls.step, tool_calls.call_index
        ) as repeats
    from tool_calls
    join trajectories using (trajectory_id)
),
calls as (
    select
        policy,
        count(*) as calls,
        count(is_error) as answered,
        count(*) filter (is_error) as errors,
        count(*) filter (repeats) as repeated
    from ordered
    group by policy
),
failures as (
    select
        policy,
        count(recovered) as failures_with_target,
        count(*) filter (recovered) as recovered,
        avg(steps_to_recover) as mean_steps_to_recover,
        count(*) filter (went_on) as went_on
    from tool_failures
    group by policy
),
products as (
    select policy, count(*) as written, count(*) filter (verified) as verified from written_files group by policy
)
select
    runs.policy,
    runs.trajectories,
    coalesce(calls.calls, 0) as calls,
    coalesce(calls.answered, 0) as answered,
    coalesce(calls.errors, 0) as errors,
    calls.errors / nullif(calls.answered, 0) as error_rate,
    coalesce(failures.failures_with_target, 0) as failures_with_target,
    coalesce(failures.recovered, 0) as recovered,
    failures.recovered / nullif(failures.failures_with_target, 0) as recovery_rate,
    failures.mean_steps_to_recover,
    coalesce(failures.went_on, 0) as went_on,
    failures.went_on / nullif(calls.errors, 0) as went_on_rate,
    coalesce(products.written, 0) as written,
    coalesce(products.verified, 0) as verified,
    products.verified / nullif(products.written, 0) as verify_rate,
    coalesce(calls.repeated, 0) as repeated,
    calls.repeated / nullif(calls.calls, 0) as repeat_rate
from runs
left join calls using (policy)
left join failures using (policy)
left join products using (policy)
order by runs.policy;
