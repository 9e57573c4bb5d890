-- What became of each task that a model was to write: proposed, or set aside with the step and the reason.
-- grain: one candidate that ended; key: candidate_id
-- inputs: events (candidate.proposed, candidate.quarantined)
-- calls counts the model calls whose answers it used, those of repairs included.
create or replace view task_candidates as
select
    stream_id as candidate_id,
    payload ->> '$.route' as route,
    (payload ->> '$.seed')::bigint as seed,
    (payload ->> '$.index')::bigint as position,
    type = 'candidate.proposed' as proposed,
    payload ->> '$.task_id' as task_id,
    payload ->> '$.task_version' as task_version,
    payload ->> '$.step' as step,
    payload ->> '$.kind' as kind,
    payload ->> '$.reason' as reason,
    payload ->> '$.scenario_category' as scenario_category,
    payload ->> '$.scenario_subcategory' as scenario_subcategory,
    payload ->> '$.persona_id' as persona_id,
    (payload -> '$.skill_ids')::varchar[] as skill_ids,
    (payload ->> '$.rounds')::int as verifier_rounds,
    len(flatten(map_values((payload -> '$.calls')::map(varchar, varchar[]))))::int as calls,
    payload ->> '$.wording' as wording,
    occurred_at as ended_at
from events
where stream_kind = 'candidate' and type in ('candidate.proposed', 'candidate.quarantined') and payload is not null;
