-- A trajectory with the attempt, task and verdict it belongs to; an external log has none of these.
-- grain: one trajectory; key: trajectory_id
-- label: the task, else the first words of the first user message, else the session; it reads text, so ask for it by id
-- inputs: trajectories, steps, attempts, tasks, verdicts, sft_decisions
create or replace view trajectory_overview as
with latest as (
    select attempt_id, verdict_id, status, score_code, score, checks_passed, checks_total from verdicts where is_latest
)
select
    trajectories.trajectory_id,
    trajectories.session_id,
    trajectories.source_id,
    trajectories.attempt_id,
    trajectories.branch,
    coalesce(
        trajectories.task_id,
        (
            select nullif(left(trim(regexp_replace(arg_min(steps.text, steps.step), '\s+', ' ', 'g')), 60), '')
            from steps
            where steps.trajectory_id = trajectories.trajectory_id and steps.role = 'user'
        ),
        trajectories.session_id
    ) as label,
    trajectories.model,
    trajectories.class,
    coalesce(trajectories.policy, 'external log') as policy,
    coalesce(attempts.policy_kind, 'external log') as policy_kind,
    attempts.purpose,
    attempts.batch,
    attempts.counted,
    attempts.ending,
    trajectories.task_id,
    attempts.task_version,
    tasks.family,
    tasks.bench_category,
    tasks.difficulty,
    trajectories.turns,
    trajectories.tool_calls,
    trajectories.tool_types,
    trajectories.tool_errors,
    trajectories.text_tokens,
    trajectories.input_tokens,
    trajectories.output_tokens,
    trajectories.context_differs,
    trajectories.secrets_masked,
    trajectories.started_at,
    trajectories.ended_at,
    latest.verdict_id,
    latest.status as verdict_status,
    latest.score_code,
    latest.score,
    latest.checks_passed,
    latest.checks_total,
    sft_decisions.decision as sft_decision,
    sft_decisions.reason as sft_reason
from trajectories
left join attempts using (attempt_id)
left join tasks on tasks.task_id = attempts.task_id and tasks.task_version = attempts.task_version
left join latest on latest.attempt_id = trajectories.attempt_id
left join sft_decisions on sft_decisions.trajectory_id = trajectories.trajectory_id;
