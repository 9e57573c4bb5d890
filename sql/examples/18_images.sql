-- Which images stood in the logs, and in which raw record are their bytes?
-- inputs: diagnostics, raw_records
select
    regexp_extract(diagnostics.detail, 'sha256 ([0-9a-f]{64})', 1) as sha256,
    regexp_extract(diagnostics.detail, '(\d+) bytes', 1)::bigint as bytes,
    regexp_extract(diagnostics.detail, 'bytes, (.*)$', 1) as mime,
    diagnostics.session_id,
    diagnostics.trajectory_id,
    diagnostics.line,
    diagnostics.record_key,
    raw_records.raw_blob
from diagnostics
join raw_records using (record_key)
where diagnostics.rule = 'image_replaced' and diagnostics.detail like 'sha256 %'
order by sha256, diagnostics.session_id, diagnostics.line;
