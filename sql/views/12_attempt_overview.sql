-- An attempt with its task, ending, latest verdict, trajectory and what the filter said.
-- grain: one attempt; key: attempt_id
-- inputs: attempts, tasks, task_status, verdicts, trajectories, sft_decisions
-- trajectory_id is the branch the session ended on; trajectories counts all branches and sessions of the attempt.
create or replace view attempt_overview as
with latest as (
    select * from verdicts where is_latest
),
branches as (
    select
        attempt_id,
        arg_min(trajectory_id, (branch, trajectory_id)) as trajectory_id,
        count(*) as trajectories
    from trajectories
    where attempt_id is not null
    group by attempt_id
)
select
    attempts.attempt_id,
    attempts.rollout_id,
    attempts.attempt_no,
    attempts.counted,
    attempts.purpose,
    attempts.batch,
    attempts.task_id,
    attempts.task_version,
    tasks.family,
    tasks.bench_category,
    tasks.difficulty,
    task_status.split,
    attempts.policy,
    attempts.policy_kind,
    attempts.harness,
    attempts.seed,
    attempts.repeat,
    attempts.state,
    attempts.ending,
    attempts.ending_kind,
    attempts.ending_detail,
    attempts.session_id,
    attempts.model_calls,
    attempts.initial_workspace_id,
    attempts.final_workspace_id,
    attempts.started_at,
    attempts.ended_at,
    attempts.duration_s,
    latest.verdict_id,
    latest.status as verdict_status,
    latest.score_code,
    latest.score_rubric,
    latest.score,
    latest.checks_passed,
    latest.checks_total,
    branches.trajectory_id,
    coalesce(branches.trajectories, 0) as trajectories,
    trajectories.class,
    trajectories.turns,
    trajectories.tool_calls,
    trajectories.tool_errors,
    trajectories.text_tokens,
    sft_decisions.decision as sft_decision,
    sft_decisions.reason as sft_reason
from attempts
left join tasks using (task_id, task_version)
left join task_status using (task_id, task_version)
left join latest on latest.attempt_id = attempts.attempt_id
left join branches on branches.attempt_id = attempts.attempt_id
left join trajectories on trajectories.trajectory_id = branches.trajectory_id
left join sft_decisions on sft_decisions.trajectory_id = branches.trajectory_id;
