-- What the proxy recorded of the calls of policies that are paid for, as far as the log has taken it in.
-- grain: one upstream try; key: record_id; inputs: raw_records; parameters: $attempts
select distinct on (record_id)
    record_id,
    attempt_id,
    raw,
    raw_blob
from raw_records
where source_kind = 'proxy.call' and list_contains($attempts, attempt_id)
order by record_id, version desc
