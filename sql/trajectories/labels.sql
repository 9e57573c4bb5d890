-- What a reader recognises trajectories by: the task, or the first words of the first message.
-- grain: one trajectory
-- inputs: trajectory_overview
-- parameters: $ids, those shown; a label reads text, so it is never asked for a whole table
select trajectory_id, label
from trajectory_overview
where list_contains($ids, trajectory_id);
