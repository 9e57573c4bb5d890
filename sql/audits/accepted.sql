-- The accepted tasks: of each task the version accepted that was proposed last.
-- grain: one task; key: task_id
-- inputs: tasks, task_status, events; parameters: split (null for all)
select
    tasks.*,
    task_status.status,
    task_status.reasons,
    task_status.split
from tasks
join task_status using (task_id, task_version)
join events on events.event_id = tasks.event_id
where task_status.status = 'accepted'
    and ($split is null or task_status.split = $split)
qualify row_number() over (
    partition by tasks.task_id order by events.occurred_at desc, tasks.task_version
) = 1
order by tasks.task_id;
