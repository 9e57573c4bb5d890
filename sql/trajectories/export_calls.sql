-- Tool calls of the trajectories of an export.
-- grain: one tool call
-- inputs: tool_calls
-- parameters: $ids
select *
from tool_calls
where trajectory_id in (select unnest($ids))
order by trajectory_id, step, call_index
