-- What the filter looks at: each trajectory with its attempt, the split of its task and its latest verdict.
-- grain: one trajectory
-- key: trajectory_id
-- inputs: trajectories, attempts, task_status, verdicts
select
    t.trajectory_id,
    t.attempt_id,
    t.branch,
    t.class,
    t.turns,
    t.tool_calls,
    t.context_differs,
    coalesce(json_array_length(t.tools) > 0, false) as has_tools,
    a.attempt_id is not null as ours,
    a.task_id,
    a.task_version,
    a.purpose,
    a.policy,
    coalesce(a.counted, false) as counted,
    s.split,
    v.verdict_id,
    v.score_code,
    v.score
from trajectories as t
left join attempts as a using (attempt_id)
left join task_status as s on s.task_id = a.task_id and s.task_version = a.task_version
left join verdicts as v on v.attempt_id = t.attempt_id and v.is_latest
order by t.trajectory_id
