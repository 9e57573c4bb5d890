-- What the probes found out about each verifier, one line a task version.
-- grain: one task version; key: task_id, task_version
-- inputs: audits, task_status
-- worst_worthless is the most any worthless output earned (zero-byte files, placeholders, the pasted instruction).
create or replace view audit_overview as
select
    audits.task_id,
    audits.task_version,
    any_value(audits.verifier_version) as verifier_version,
    task_status.status,
    task_status.split,
    task_status.reasons,
    count(*) as probes,
    count(*) filter (audits.passed) as passed,
    max(audits.score_code) filter (audits.probe = 'oracle') as oracle_score,
    max(audits.score_code) filter (audits.probe = 'untouched') as untouched_score,
    max(audits.score_code) filter (audits.probe in ('zero_byte', 'placeholder', 'pasted_instruction')) as worst_worthless,
    count(*) filter (starts_with(audits.probe, 'mutant:')) as mutants,
    count(*) filter (starts_with(audits.probe, 'mutant:') and audits.passed) as mutants_killed,
    coalesce(list(audits.probe order by audits.probe) filter (not audits.passed), []) as failed_probes
from audits
left join task_status using (task_id, task_version)
group by audits.task_id, audits.task_version, task_status.status, task_status.split, task_status.reasons;
