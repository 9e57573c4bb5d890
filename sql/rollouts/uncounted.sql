-- Rollouts of the collection, by their latest attempt: how many there are, and which have no counted attempt.
-- grain: one rollout; key: rollout_id; inputs: attempts
select
    rollout_id,
    arg_max(task_id, attempt_no) as task_id,
    arg_max(policy, attempt_no) as policy,
    arg_max(coalesce(ending, state), attempt_no) as ending,
    arg_max(state in ('planned', 'running') or coalesce(ending = 'spend_cap', false), attempt_no) as is_open,
    bool_or(counted) as has_counted
from attempts
where purpose = 'collect'
group by rollout_id
order by task_id, policy, rollout_id
