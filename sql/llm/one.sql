-- How a call ended for good.
-- grain: one call; key: stream_id
-- parameters: call, the id
-- inputs: events (llm.answered, llm.rejected)
select payload, payload_blob
from events
where stream_kind = 'llm_call' and stream_id = $call and type in ('llm.answered', 'llm.rejected');
