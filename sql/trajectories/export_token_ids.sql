-- How many model calls of the trajectories of an export have exact token ids.
-- grain: one trajectory
-- inputs: samples
-- parameters: $ids
select trajectory_id, count(*) as calls
from samples
where trajectory_id in (select unnest($ids)) and completion_token_ids is not null
group by trajectory_id
order by trajectory_id
