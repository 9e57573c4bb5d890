-- Everything on one line about a trajectory, its attempt, task and verdict.
-- grain: one trajectory
-- inputs: trajectory_overview, trajectories, attempts, verdicts, sft_examples
-- parameters: $trajectory_id
select
    overview.*,
    trajectories.rules,
    attempts.rollout_id,
    attempts.attempt_no,
    attempts.harness,
    attempts.seed,
    attempts.ending_detail,
    attempts.duration_s,
    attempts.model_calls,
    attempts.initial_workspace_id,
    attempts.final_workspace_id,
    verdicts.verifier_version,
    verdicts.judge_version,
    sft_examples.example_id
from trajectory_overview as overview
join trajectories using (trajectory_id)
left join attempts on attempts.attempt_id = overview.attempt_id
left join verdicts on verdicts.verdict_id = overview.verdict_id
left join sft_examples on sft_examples.trajectory_id = overview.trajectory_id
where overview.trajectory_id = $trajectory_id;
