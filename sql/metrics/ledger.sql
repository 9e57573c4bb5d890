-- Where the raw records of each kind of source went; unaccounted must be 0.
-- grain: one source kind
-- inputs: raw_records, ledger
with raw as (
    select source_kind, count(*) as raw_records, sum(raw_size)::bigint as bytes from raw_records group by source_kind
),
accounted as (
    select
        source_kind,
        sum(records)::bigint as records,
        coalesce(sum(records) filter (disposition = 'kept'), 0)::bigint as kept,
        coalesce(sum(records) filter (disposition = 'dropped'), 0)::bigint as dropped,
        coalesce(sum(records) filter (disposition = 'quarantined'), 0)::bigint as quarantined
    from ledger
    group by source_kind
)
select
    raw.source_kind,
    raw.raw_records,
    raw.bytes,
    coalesce(accounted.kept, 0) as kept,
    coalesce(accounted.dropped, 0) as dropped,
    coalesce(accounted.quarantined, 0) as quarantined,
    raw.raw_records - coalesce(accounted.records, 0) as unaccounted
from raw
left join accounted using (source_kind)
order by raw.source_kind;
