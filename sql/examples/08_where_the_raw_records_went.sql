-- Does the loss ledger add up: is every raw record kept, dropped or quarantined by name?
-- unaccounted must be 0 in every line.
-- inputs: raw_records, ledger
with raw as (
    select source_kind, count(*) as raw_records from raw_records group by source_kind
),
ledgered as (
    select
        source_kind,
        sum(records) filter (disposition = 'kept')::bigint as kept,
        sum(records) filter (disposition = 'dropped')::bigint as dropped,
        sum(records) filter (disposition = 'quarantined')::bigint as quarantined
    from ledger
    group by source_kind
)
select
    raw.source_kind,
    raw.raw_records,
    coalesce(ledgered.kept, 0) as kept,
    coalesce(ledgered.dropped, 0) as dropped,
    coalesce(ledgered.quarantined, 0) as quarantined,
    raw.raw_records - coalesce(kept, 0) - coalesce(dropped, 0) - coalesce(quarantined, 0) as unaccounted
from raw
left join ledgered using (source_kind)
order by raw.source_kind;
