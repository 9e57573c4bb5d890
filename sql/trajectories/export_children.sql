-- Trajectories of an export whose session came from another session, with that session.
-- grain: one trajectory with a known parent
-- inputs: trajectories, sources, session_lineage
-- parameters: $ids
select
    lineage.home,
    lineage.parent_session_id,
    lineage.session_key,
    lineage.known_by,
    trajectories.session_id,
    trajectories.trajectory_id
from trajectories
left join sources on sources.source_id = trajectories.source_id and sources.is_latest
inner join session_lineage as lineage
    on lineage.home = coalesce(sources.home, '') and lineage.session_id = trajectories.session_id
where trajectories.trajectory_id in (select unnest($ids)) and lineage.parent_session_id is not null
order by lineage.home, lineage.parent_session_id, trajectories.branch, trajectories.trajectory_id
