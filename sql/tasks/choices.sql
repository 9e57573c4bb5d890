-- What the filters of the tasks page can be set to.
-- grain: one value of one filter
-- inputs: tasks, task_status
with chosen as (
    unpivot (
        select coalesce(task_status.status, 'not audited') as status, task_status.split, tasks.family, tasks.bench_category
        from tasks
        left join task_status using (task_id, task_version)
    )
    on status, split, family, bench_category into name filter value choice
)
select filter, choice, count(*) as n
from chosen
group by filter, choice
order by filter, n desc, choice;
