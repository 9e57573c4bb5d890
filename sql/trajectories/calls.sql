-- The tool calls of some messages of a trajectory, each with its result.
-- grain: one tool call
-- inputs: tool_calls, steps
-- parameters: $trajectory_id, $first, $last, $chars
with results as (
    select step, text from steps where trajectory_id = $trajectory_id and role = 'tool'
)
select
    calls.step,
    calls.call_index,
    calls.tool,
    calls.phase,
    calls.target,
    left(calls.arguments, $chars) as arguments,
    length(calls.arguments) as arguments_chars,
    calls.result_step,
    left(results.text, $chars) as result,
    length(results.text) as result_chars,
    calls.is_error,
    calls.error_source,
    calls.exit_code,
    calls.duration_ms
from tool_calls as calls
left join results on results.step = calls.result_step
where calls.trajectory_id = $trajectory_id and calls.step between $first and $last
order by calls.step, calls.call_index;
