-- The trajectory that an id belongs to: its own, its attempt's, its session's, its training row's or its verdict's.
-- grain: one trajectory, the branch the session ended on first
-- inputs: trajectories, sft_examples, verdicts
-- parameters: $id
select trajectory_id
from trajectories
where
    trajectory_id = $id
    or attempt_id = $id
    or session_id = $id
    or trajectory_id in (select sft_examples.trajectory_id from sft_examples where sft_examples.example_id = $id)
    or attempt_id in (select verdicts.attempt_id from verdicts where verdicts.verdict_id = $id)
order by trajectory_id = $id desc, branch, trajectory_id
limit 1;
