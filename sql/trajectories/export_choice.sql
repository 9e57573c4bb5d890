-- Which trajectories an export takes.
-- grain: one trajectory
-- inputs: trajectory_overview
-- parameters: $policy, $task (contained in it), $class, $counted (only counted attempts), $min_score (of score_code);
-- parameters: null, or false, for any
select trajectory_id
from trajectory_overview
where
    ($policy::varchar is null or contains(policy, $policy))
    and ($task::varchar is null or contains(task_id, $task))
    and ($class::varchar is null or class = $class)
    and (not $counted::boolean or counted)
    and ($min_score::double is null or score_code >= $min_score)
order by trajectory_id
