-- What each model was paid for so far, by its answers.
-- grain: one model; key: model
-- inputs: events (llm.answered)
select
    payload ->> '$.model' as model,
    sum((payload ->> '$.completion.usage.prompt')::bigint)::bigint as prompt,
    sum((payload ->> '$.completion.usage.cached')::bigint)::bigint as cached,
    sum((payload ->> '$.completion.usage.completion')::bigint)::bigint as completion,
    sum((payload ->> '$.completion.usage.estimated')::bigint)::bigint as estimated
from events
where stream_kind = 'llm_call' and type = 'llm.answered'
group by model
order by model;
