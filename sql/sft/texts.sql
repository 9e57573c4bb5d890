-- The text of trajectories that pass.
-- grain: one trajectory
-- key: trajectory_id
-- inputs: trajectories
-- parameters: $trajectory_ids
select trajectory_id, messages, tools
from trajectories
where list_contains($trajectory_ids, trajectory_id)
order by trajectory_id
