-- Where the raw records of the sources behind a trajectory went.
-- grain: one source x disposition x rule
-- inputs: ledger
-- parameters: $source_id, $attempt_id
select source_kind, disposition, rule, records, version, source_id
from ledger
where source_id = $source_id or attempt_id = $attempt_id
order by source_kind, source_id, version, disposition desc, rule;
