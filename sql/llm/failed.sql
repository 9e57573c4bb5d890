-- How often a call was tried in vain: the place of its next event in its stream.
-- grain: one call; key: stream_id
-- inputs: events (llm.unanswered)
select stream_id, count(*) as failed
from events
where stream_kind = 'llm_call' and type = 'llm.unanswered'
group by stream_id
order by stream_id;
