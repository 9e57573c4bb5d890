-- Trajectories of an export with what is known of their attempt, task, verdict and source.
-- grain: one trajectory
-- inputs: trajectories, trajectory_overview, attempts, tasks, task_status, sources
-- parameters: $ids
select
    trajectories.*,
    overview.policy_kind,
    overview.purpose,
    overview.batch,
    overview.counted,
    overview.ending,
    overview.task_version,
    overview.family,
    overview.bench_category,
    overview.verdict_status,
    overview.score_code,
    overview.score,
    attempts.harness as attempt_harness,
    attempts.repeat,
    attempts.ending_kind,
    attempts.ending_detail,
    tasks.licence,
    task_status.split as task_split,
    sources.source_kind,
    coalesce(sources.home, '') as home
from trajectories
inner join trajectory_overview as overview on overview.trajectory_id = trajectories.trajectory_id
left join attempts on attempts.attempt_id = trajectories.attempt_id
left join tasks on tasks.task_id = attempts.task_id and tasks.task_version = attempts.task_version
left join task_status on task_status.task_id = attempts.task_id and task_status.task_version = attempts.task_version
left join sources on sources.source_id = trajectories.source_id and sources.is_latest
where trajectories.trajectory_id in (select unnest($ids))
order by trajectories.trajectory_id
