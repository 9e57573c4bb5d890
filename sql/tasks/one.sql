-- A task version with its decision and the text of who and what it was written for.
-- grain: one task version
-- inputs: tasks, task_status, personas, audit_overview
-- parameters: $task_id, $task_version (null for the newest by name)
select
    tasks.* exclude (event_id),
    coalesce(task_status.status, 'not audited') as status,
    task_status.split,
    task_status.reasons,
    personas.text as persona,
    audit_overview.probes,
    audit_overview.passed,
    audit_overview.oracle_score,
    audit_overview.worst_worthless,
    audit_overview.mutants,
    audit_overview.mutants_killed
from tasks
left join task_status using (task_id, task_version)
left join personas using (persona_id)
left join audit_overview using (task_id, task_version)
where tasks.task_id = $task_id and ($task_version is null or tasks.task_version = $task_version)
order by tasks.task_version desc
limit 1;
