-- The probes of a task version's verifier.
-- grain: one probe
-- inputs: audits
-- parameters: $task_id, $task_version
select probe, passed, score_code, bound, status, detail, duration_s
from audits
where task_id = $task_id and task_version = $task_version
order by passed, starts_with(probe, 'mutant:'), probe;
