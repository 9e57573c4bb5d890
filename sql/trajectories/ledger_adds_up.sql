-- Does every raw record of every source version have exactly one fate?
-- grain: one row
-- inputs: raw_records, ledger
with raw as (
    select source_id, version, count(*) as records from raw_records group by source_id, version
),
fates as (
    select
        source_id,
        version,
        sum(records) as records,
        sum(records) filter (disposition = 'kept') as kept,
        sum(records) filter (disposition = 'dropped') as dropped,
        sum(records) filter (disposition = 'quarantined') as quarantined,
        sum(records) filter (rule = 'unplaced') as unplaced
    from ledger
    group by source_id, version
)
select
    coalesce(sum(raw.records), 0)::bigint as raw_records,
    coalesce(sum(fates.kept), 0)::bigint as kept,
    coalesce(sum(fates.dropped), 0)::bigint as dropped,
    coalesce(sum(fates.quarantined), 0)::bigint as quarantined,
    coalesce(sum(fates.unplaced), 0)::bigint as unplaced,
    count(*) filter (raw.records is distinct from fates.records) as sources_that_differ
from raw
full join fates using (source_id, version);
