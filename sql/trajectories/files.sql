-- The final workspace of an attempt against its initial one, changes first.
-- grain: one path
-- inputs: final_files, attempts, workspaces
-- parameters: $attempt_id
with mine as (
    select attempt_id, task_id, task_version from attempts where attempt_id = $attempt_id
)
select
    final_files.path,
    final_files.change,
    final_files.kind,
    final_files.format,
    workspaces.size as size_before,
    final_files.size as size_after,
    workspaces.sha256 as sha256_before,
    final_files.sha256 as sha256_after,
    final_files.note
from final_files
join mine using (attempt_id)
left join workspaces
    on workspaces.task_id = mine.task_id
    and workspaces.task_version = mine.task_version
    and workspaces.path = final_files.path
order by final_files.change = 'unchanged', final_files.path;
