-- The proxy's record of every model call, retries included: status, tokens, timing. No message text.
-- grain: one upstream try; key: record_key
-- inputs: raw_records (source_kind proxy.call), samples
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
    fields.parse_status
from fields
left join placed using (record_key);
