-- The named checks of every verdict, one line each.
-- grain: one check of one verdict; key: verdict_id, check_name
-- inputs: verdicts
create or replace view checks as
select
    verdicts.verdict_id,
    verdicts.attempt_id,
    verdicts.task_id,
    verdicts.task_version,
    verdicts.verifier_version,
    verdicts.is_latest,
    named.key as check_name,
    try_cast(named.value as double) as value,
    try_cast(named.value as double) >= 1 as passed
from verdicts, json_each(verdicts.checks) as named;
