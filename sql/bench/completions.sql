-- What models answered in given attempts, with the tools they were served.
-- grain: one model call of the main conversation that was answered
-- inputs: samples, trajectories
-- parameters: $attempt_ids
select
    trajectories.attempt_id,
    trajectories.tools,
    samples.completion
from samples
inner join trajectories using (trajectory_id)
where
    list_contains($attempt_ids, trajectories.attempt_id)
    and trajectories.branch = 0
    and samples.kind in ('main', 'retry')
    and samples.completion is not null
order by trajectories.attempt_id, samples.trajectory_id, samples.call
