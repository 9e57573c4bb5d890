-- Which session a session came from, how that is known, and the typed gap where it cannot be known.
-- grain: one session of one state folder; key: (home, session_id)
-- inputs: sessions, sources, trajectories, tool_calls, steps
-- gap: subagent_parent_ambiguous (several sessions may be the parent), subagent_parent_unknown (none is known),
-- agent_transcript_unavailable (the books know the session, no transcript of it is in the lake)
create or replace view session_lineage as
with spoken as (
    select
        coalesce(sources.home, '') as home,
        trajectories.session_id,
        min(trajectories.started_at) as started_at,
        max(trajectories.ended_at) as ended_at,
        any_value(trajectories.attempt_id) as attempt_id,
        max(trajectories.parent_session) as header_parent,
        count(*) as trajectories
    from trajectories
    left join sources on sources.source_id = trajectories.source_id and sources.is_latest
    group by all
),
known as (
    select
        coalesce(spoken.home, sessions.home) as home,
        coalesce(spoken.session_id, sessions.session_id) as session_id,
        sessions.session_key,
        sessions.kind,
        sessions.agent_id,
        coalesce(sessions.spawned_by, sessions.parent_key) as parent_key,
        sessions.spawned_by,
        sessions.forked_from,
        sessions.label,
        sessions.status,
        coalesce(spoken.started_at, sessions.started_at) as started_at,
        coalesce(spoken.ended_at, sessions.updated_at) as ended_at,
        spoken.attempt_id,
        coalesce(spoken.trajectories, 0) as trajectories,
        -- a header names its parent by id or by the file of it
        regexp_extract(spoken.header_parent, '([^/\\]+?)(-topic-[^.]+)?(\.jsonl.*)?$', 1) as header_parent
    from spoken
    full join sessions on sessions.home = spoken.home and sessions.session_id = spoken.session_id
),
spawns as (
    select distinct
        coalesce(sources.home, '') as home,
        trajectories.session_id as parent,
        regexp_extract(steps.text, '"childSessionKey"\s*:\s*"([^"]+)"', 1) as child_key
    from tool_calls
    inner join steps on steps.trajectory_id = tool_calls.trajectory_id and steps.step = tool_calls.result_step
    inner join trajectories on trajectories.trajectory_id = tool_calls.trajectory_id
    left join sources on sources.source_id = trajectories.source_id and sources.is_latest
    where tool_calls.tool = 'sessions_spawn' and contains(steps.text, 'childSessionKey')
),
candidates as (
    -- by the parent's own words: the result of its sessions_spawn names the child's key
    select known.home, known.session_id, spawns.parent, 1 as rank, 'spawn_result' as known_by
    from known
    inner join spawns on spawns.home = known.home and spawns.child_key = known.session_key
    union all
    select home, session_id, header_parent, 2, 'header' from known where header_parent <> ''
    union all
    select home, session_id, forked_from, 3, 'books' from known where forked_from is not null
    union all
    -- by key and time: sessions of the parent's key that were going on when the child began
    select child.home, child.session_id, parent.session_id, 4, 'key_and_time'
    from known as child
    inner join known as parent on parent.home = child.home and parent.session_key = child.parent_key
    where
        child.session_id <> parent.session_id
        and child.started_at >= parent.started_at
        and (parent.ended_at is null or child.started_at <= parent.ended_at or parent.status = 'running')
    union all
    select child.home, child.session_id, parent.session_id, 5, 'key'
    from known as child
    inner join known as parent on parent.home = child.home and parent.session_key = child.parent_key
    where child.session_id <> parent.session_id
),
best as (
    select home, session_id, known_by, count(distinct parent) as parents, min(parent) as parent
    from (select *, min(rank) over (partition by home, session_id) as first from candidates)
    where rank = first
    group by home, session_id, known_by
)
select
    known.home,
    known.session_id,
    known.session_key,
    known.kind,
    known.agent_id,
    known.attempt_id,
    known.label,
    known.status,
    known.spawned_by,
    known.parent_key,
    case when best.parents = 1 then best.parent end as parent_session_id,
    case when best.parents = 1 then best.known_by end as known_by,
    known.trajectories,
    known.started_at,
    case
        when best.parents > 1 then 'subagent_parent_ambiguous'
        when best.parents is null and (known.parent_key is not null or known.kind = 'subagent') then 'subagent_parent_unknown'
        when known.trajectories = 0 then 'agent_transcript_unavailable'
    end as gap
from known
left join best on best.home = known.home and best.session_id = known.session_id;
