-- A page of the attempts on a task version.
-- grain: one attempt
-- inputs: attempt_overview
-- parameters: $task_id, $task_version, $limit, $offset
select
    attempt_id,
    trajectory_id,
    policy,
    purpose,
    counted,
    ending,
    score_code,
    turns,
    tool_calls,
    tool_errors,
    duration_s,
    count(*) over () as total
from attempt_overview
where task_id = $task_id and task_version = $task_version
order by policy, repeat, attempt_no, attempt_id
limit $limit offset $offset;
