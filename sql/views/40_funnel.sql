-- From personas and skills to scores: how many there are of each, and what became of the rest.
-- grain: one stage of the loop; key: position
-- inputs: personas, skills, tasks, task_status, attempts, trajectories, verdicts, sft_examples, checkpoints, bench_scores
create or replace view funnel as
with facts as (
    select
        (select count(*) from personas) as personas,
        (select count(*) from skills) as skills,
        (select count(*) from skills where synthesizable) as usable_skills,
        (select count(*) from tasks) as tasks,
        (select count(distinct family) from tasks) as families,
        (select count(*) from task_status where status = 'accepted') as accepted,
        (select count(*) from task_status where status = 'rejected') as rejected,
        (select count(*) from attempts) as attempts,
        (select count(*) from attempts where counted) as counted,
        (select count(*) from attempts where ending_kind = 'infrastructure') as infrastructure,
        (select string_agg(distinct policy_kind, ', ' order by policy_kind) from attempts) as policy_kinds,
        (select count(*) from trajectories) as trajectories,
        (select count(*) from trajectories where attempt_id is null) as foreign_trajectories,
        (select count(*) from verdicts where is_latest and status = 'scored') as scored,
        (select count(*) from verdicts where is_latest and status <> 'scored') as unscored,
        (select count(*) from sft_examples) as examples,
        (select count(*) from sft_examples where split = 'train') as train_examples,
        (select count(*) from checkpoints) as checkpoints,
        (select count(*) from checkpoints where method <> 'init') as trained,
        (select count(distinct bench_run_id) from bench_scores) as bench_runs,
        (select coalesce(sum(n), 0)::bigint from bench_scores where scope = 'suite') as bench_scored
)
select
    unnest(range(1, 11)) as position,
    unnest([
        'personas', 'skills', 'tasks', 'accepted', 'attempts', 'trajectories', 'verdicts', 'sft', 'checkpoints', 'bench'
    ]) as stage,
    unnest([
        personas, skills, tasks, accepted, attempts, trajectories, scored, examples, checkpoints, bench_runs
    ])::bigint as n,
    unnest([
        'personas', 'skills read', 'task versions proposed', 'task versions accepted', 'attempts', 'trajectories cleaned',
        'attempts scored', 'SFT rows', 'checkpoints', 'bench runs'
    ]) as label,
    unnest([
        '',
        format('{:,} usable for synthesis', usable_skills),
        format('families: {:,}', families),
        format('{:,} rejected by audits, {:,} not audited', rejected, tasks - accepted - rejected),
        format(
            '{:,} counted, {:,} ended by infrastructure; policies: {}', counted, infrastructure, coalesce(policy_kinds, 'none')
        ),
        format('{:,} of our attempts, {:,} from external logs', trajectories - foreign_trajectories, foreign_trajectories),
        format('{:,} without a score (verifier or judge)', unscored),
        format('{:,} train, {:,} validation', train_examples, examples - train_examples),
        format('{:,} trained, {:,} initial', trained, checkpoints - trained),
        format('{:,} scored attempts', bench_scored)
    ]) as detail
from facts
order by position;
