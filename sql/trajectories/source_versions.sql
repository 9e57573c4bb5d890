-- What there is of each source version, without its records.
-- grain: one version of one source
-- key: source_id, version
-- inputs: raw_records
-- parameters: $decoded, bytes up to which a record is decoded
select
    source_id,
    version,
    any_value(source_kind) as source_kind,
    arg_min(source_path, position) as source_path,
    any_value(session_id) as session_id,
    any_value(attempt_id) as attempt_id,
    count(*) as records,
    sum(raw_size)::bigint as bytes,
    sum(least(raw_size, $decoded))::bigint as decoded,
    max(position) as last_position,
    max(ts) as newest,
    coalesce(arg_min_null(ts, position), min(ts)) as begun
from raw_records
group by source_id, version
order by source_id, version;
