-- Messages of the trajectories of an export.
-- grain: one message
-- inputs: steps
-- parameters: $ids
select *
from steps
where trajectory_id in (select unnest($ids))
order by trajectory_id, step
