-- Paths an agent wrote or edited and whether it looked at the product after its last write.
-- grain: one path written in one trajectory; key: trajectory_id, path
-- inputs: tool_calls, trajectories
-- verified: after the last successful write or edit of the path, a successful read of it or a command naming it.
create or replace view written_files as
with writes as (
    select
        trajectory_id,
        target as path,
        count(*) as writes,
        max(step) as last_write
    from tool_calls
    where phase in ('write', 'edit') and tool <> 'exec' and target is not null and not coalesce(is_error, false)
    group by trajectory_id, target
),
looks as (
    select
        writes.trajectory_id,
        writes.path,
        min(later.step) as verified_at
    from writes
    join tool_calls as later
        on later.trajectory_id = writes.trajectory_id
        and later.step > writes.last_write
        and later.is_error = false
        and (
            (later.phase = 'read' and later.target = writes.path)
            or (later.tool = 'exec' and contains(later.arguments, writes.path))
        )
    group by writes.trajectory_id, writes.path
)
select
    writes.trajectory_id,
    coalesce(trajectories.policy, 'external log: ' || coalesce(trajectories.model, 'unknown model')) as policy,
    writes.path,
    writes.writes,
    writes.last_write,
    looks.verified_at is not null as verified,
    looks.verified_at
from writes
join trajectories using (trajectory_id)
left join looks on looks.trajectory_id = writes.trajectory_id and looks.path = writes.path;
