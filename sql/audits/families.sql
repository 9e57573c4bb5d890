-- What the audits say of each task family: how its tasks, its worthless outputs and its mutants fared.
-- grain: one family (or origin, for tasks without one); key: family
-- inputs: tasks, task_status, audits
-- Latest is not asked for: every version that was decided counts. Figures of probes are over decided versions.
with decided as (
    select coalesce(tasks.family, tasks.origin) as family, tasks.bench_category, task_id, task_version, task_status.status
    from tasks join task_status using (task_id, task_version)
),
probed as (
    select decided.family, decided.task_id, audits.*
    from audits join decided using (task_id, task_version)
),
figures as (
    select
        family,
        count(*) as probes,
        min(score_code) filter (probe = 'oracle') as oracle_min,
        max(score_code) filter (probe = 'untouched') as untouched_max,
        max(score_code) filter (probe = 'empty') as empty_max,
        max(score_code) filter (probe = 'zero_byte') as zero_byte_max,
        max(score_code) filter (probe = 'placeholder') as placeholder_max,
        max(score_code) filter (probe = 'pasted_instruction') as pasted_max,
        count(*) filter (starts_with(probe, 'mutant:')) as mutants,
        count(*) filter (starts_with(probe, 'mutant:') and passed) as killed,
        count(*) filter (starts_with(probe, 'variation:')) as variations,
        count(*) filter (starts_with(probe, 'variation:') and score_code < 1 - 1e-9) as variations_noticed,
        count(*) filter (probe = 'repeat') as repeats,
        count(*) filter (probe = 'repeat' and passed) as repeats_equal,
        count(*) filter (starts_with(probe, 'lint:') and not passed) as lints
    from probed
    group by family
)
select
    family,
    min(bench_category) as bench_category,
    count(*) as tasks,
    count(*) filter (status = 'accepted') as accepted,
    any_value(columns(figures.* exclude (family)))
from decided
join figures using (family)
group by family
order by family;
