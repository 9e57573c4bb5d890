-- Rollouts without a counted attempt, by their latest attempt.
-- grain: one rollout; key: rollout_id; inputs: attempts
select
    rollout_id,
    arg_max(task_id, attempt_no) as task_id,
    arg_max(policy, attempt_no) as policy,
    arg_max(coalesce(ending, ''), attempt_no) as ending,
    arg_max(state, attempt_no) as state
from attempts
group by rollout_id
having not bool_or(counted)
order by task_id, policy, rollout_id
