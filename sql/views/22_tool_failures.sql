-- Failed tool calls and whether the agent recovered: a later successful call on the same target.
-- grain: one failed tool call; key: trajectory_id, step, call_index
-- inputs: tool_calls, trajectories
-- recovered is null where the call has no target to compare; steps_to_recover counts messages. went_on is weaker: any
-- later successful call of the same tool, which includes a wrong path that was given up for the right one.
create or replace view tool_failures as
with following as (
    select
        trajectory_id,
        step,
        call_index,
        tool,
        target,
        is_error,
        error_source,
        exit_code,
        record_key,
        result_record_key,
        min(case when not is_error then step end) over (
            partition by trajectory_id, target
            order by step, call_index
            rows between 1 following and unbounded following
        ) as next_success,
        min(case when not is_error then step end) over (
            partition by trajectory_id, tool
            order by step, call_index
            rows between 1 following and unbounded following
        ) is not null as went_on
    from tool_calls
)
select
    following.trajectory_id,
    following.step,
    following.call_index,
    coalesce(trajectories.policy, 'external log: ' || coalesce(trajectories.model, 'unknown model')) as policy,
    following.tool,
    following.target,
    following.error_source,
    following.exit_code,
    case when following.target is not null then following.next_success is not null end as recovered,
    case when following.target is not null then following.next_success - following.step end as steps_to_recover,
    following.went_on,
    following.record_key,
    following.result_record_key
from following
join trajectories using (trajectory_id)
where following.is_error;
