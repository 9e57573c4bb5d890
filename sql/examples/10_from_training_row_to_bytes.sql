-- Where does a training row come from, down to the raw record of each of its messages?
-- Change the first line of the subselect to look at another row.
-- inputs: sft_examples, steps, raw_records, verdicts
with example as (
    select * from sft_examples order by example_id limit 1
)
select
    example.example_id,
    example.verdict_id,
    verdicts.verifier_version,
    steps.step,
    steps.role,
    raw_records.source_kind,
    raw_records.position,
    raw_records.raw_size,
    left(raw_records.raw_sha256, 12) as raw_sha256
from example
join verdicts using (verdict_id)
join steps on steps.trajectory_id = example.trajectory_id
join raw_records using (record_key)
order by steps.step;
