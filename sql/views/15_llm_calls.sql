-- Every model call, retries included: status, tokens, timing. No message text. Those of agents are the proxy's records
-- (caller `policy`); those that make and judge tasks are events (caller: the role; call_id names its stream).
-- grain: one upstream try; key: record_key, retry
-- inputs: raw_records (source_kind proxy.call), samples, events (llm.answered, llm.rejected, llm.unanswered)
-- Fields are null where the record is larger than 1 MiB (its bytes are a blob then) or is not JSON; parse_status says so.
create or replace view llm_calls as
with fields as (
    select
        record_key,
        source_id,
        version,
        position,
        attempt_id,
        session_id,
        record_id,
        ts,
        parse_status,
        raw_size,
        json_extract_string(
            case when parse_status = 'ok' then try(decode(raw)) end,
            [
                '/call', '/retry', '/policy', '/upstream', '/status', '/error', '/delivered', '/finish_reason',
                '/response_id', '/usage/prompt_tokens', '/usage/completion_tokens', '/first_byte_s', '/duration_s',
                '/request/size', '/request/shared', '/response/size'
            ]
        ) as f
    from raw_records
    where source_kind = 'proxy.call'
),
placed as (
    select distinct on (record_key) record_key, trajectory_id, step, kind, status, finish_reason, response_id
    from samples
    order by record_key, trajectory_id, call
),
asked as (
    select event_id, stream_id, seq, type, occurred_at, payload, payload -> '$.tries' as tries
    from events
    where stream_kind = 'llm_call' and payload is not null
),
failed as (
    select *, unnest(range(json_array_length(tries)::bigint))::int as retry from asked
),
role_calls as (
    select
        *,
        json_array_length(tries)::int as retry,
        200 as status,
        null::varchar as error
    from asked
    where type = 'llm.answered'
    union all
    select
        event_id,
        stream_id,
        seq,
        'failed' as type,
        occurred_at,
        payload,
        tries,
        retry,
        ((tries -> retry) ->> '$.status')::int as status,
        ((tries -> retry) ->> '$.trouble') || ': ' || ((tries -> retry) ->> '$.detail') as error
    from failed
)
select
    fields.record_key,
    fields.attempt_id,
    fields.session_id,
    fields.record_id,
    f[1]::int as call,
    f[2]::int as retry,
    placed.kind,
    placed.trajectory_id,
    placed.step,
    f[3] as policy,
    f[4] as upstream,
    coalesce(f[5]::int, placed.status) as status,
    f[6] as error,
    f[7]::boolean as delivered,
    coalesce(f[8], placed.finish_reason) as finish_reason,
    coalesce(f[9], placed.response_id) as response_id,
    f[10]::bigint as prompt_tokens,
    f[11]::bigint as completion_tokens,
    f[12]::double as first_byte_s,
    f[13]::double as duration_s,
    f[14]::bigint as request_bytes,
    f[15]::bigint as request_shared_bytes,
    f[16]::bigint as response_bytes,
    fields.raw_size as record_bytes,
    fields.ts as started_at,
    fields.parse_status,
    'policy' as caller,
    null::varchar as call_id,
    null::varchar as model,
    null::varchar as purpose,
    null::double as cost
from fields
left join placed using (record_key)
union all by name
select
    event_id as record_key,
    seq::int as call,
    retry,
    payload ->> '$.endpoint' as upstream,
    status,
    error,
    type = 'llm.answered' as delivered,
    case when type = 'llm.answered' then payload ->> '$.completion.finish_reason' end as finish_reason,
    case when type = 'llm.answered' then payload ->> '$.completion.response_id' end as response_id,
    case when type = 'llm.answered' then (payload ->> '$.completion.usage.prompt')::bigint end as prompt_tokens,
    case when type = 'llm.answered' then (payload ->> '$.completion.usage.completion')::bigint end as completion_tokens,
    case when type = 'llm.answered' then (payload ->> '$.completion.latency_s')::double end as duration_s,
    (payload ->> '$.prompt_bytes')::bigint as request_bytes,
    occurred_at as started_at,
    'ok' as parse_status,
    payload ->> '$.role' as caller,
    stream_id as call_id,
    payload ->> '$.model' as model,
    payload ->> '$.step' as purpose,
    case when type = 'llm.answered' then (payload ->> '$.cost')::double end as cost
from role_calls;
