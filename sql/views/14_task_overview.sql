-- A task version with its decision and how its counted attempts came out, scripted teachers and models apart.
-- grain: one task version; key: task_id, task_version
-- inputs: tasks, task_status, attempts, verdicts
create or replace view task_overview as
with outcomes as (
    select
        attempts.task_id,
        attempts.task_version,
        count(*) as attempts,
        count(*) filter (attempts.counted) as counted,
        count(verdicts.score_code) filter (attempts.policy_kind = 'scripted') as scripted_n,
        avg(verdicts.score_code) filter (attempts.policy_kind = 'scripted') as scripted_mean,
        count(verdicts.score_code) filter (attempts.policy_kind <> 'scripted') as model_n,
        avg(verdicts.score_code) filter (attempts.policy_kind <> 'scripted') as model_mean
    from attempts
    left join verdicts on verdicts.attempt_id = attempts.attempt_id and verdicts.is_latest and attempts.counted
    group by attempts.task_id, attempts.task_version
)
select
    tasks.task_id,
    tasks.task_version,
    tasks.instruction,
    tasks.origin,
    tasks.route,
    tasks.family,
    tasks.scenario_category,
    tasks.scenario_subcategory,
    tasks.bench_category,
    tasks.operations,
    tasks.difficulty,
    tasks.input_count,
    tasks.input_bytes,
    tasks.input_formats,
    tasks.verifier_protocol,
    tasks.verifier_version,
    tasks.rubric is not null as has_rubric,
    tasks.oracle_manifest is not null as has_oracle,
    coalesce(task_status.status, 'not audited') as status,
    task_status.split,
    task_status.reasons,
    coalesce(outcomes.attempts, 0) as attempts,
    coalesce(outcomes.counted, 0) as counted,
    coalesce(outcomes.scripted_n, 0) as scripted_n,
    outcomes.scripted_mean,
    coalesce(outcomes.model_n, 0) as model_n,
    outcomes.model_mean
from tasks
left join task_status using (task_id, task_version)
left join outcomes using (task_id, task_version);
