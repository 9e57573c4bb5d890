-- Mutants that a verifier did not notice although it must: what to mend, most frequent first.
-- grain: one family x kind x path; key: family, mutant
-- inputs: tasks, audits
select
    coalesce(tasks.family, tasks.origin) as family,
    audits.probe as mutant,
    count(*) filter (not audits.passed) as survived,
    count(*) as made,
    min(audits.task_id) filter (not audits.passed) as example,
    any_value(audits.status) filter (not audits.passed) as status
from audits
join tasks using (task_id, task_version)
where starts_with(audits.probe, 'mutant:')
group by all
having survived > 0
order by survived desc, family, mutant;
