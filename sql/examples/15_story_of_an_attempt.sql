-- What happened, in order, in the attempt with the most tool errors?
-- Every fact we stated about it, from the log.
-- inputs: events, attempt_overview
with chosen as (
    select attempt_id from attempt_overview order by tool_errors desc nulls last, attempt_id limit 1
)
select
    events.stream_id as attempt_id,
    events.seq,
    events.type,
    events.actor,
    case events.type
        when 'attempt.planned' then events.payload ->> 'policy'
        when 'attempt.started' then events.payload ->> 'sandbox'
        when 'attempt.ended' then events.payload ->> 'ending'
        when 'attempt.lost' then events.payload ->> 'reason'
    end as detail
from events
join chosen on events.stream_kind = 'attempt' and events.stream_id = chosen.attempt_id
order by events.seq;
