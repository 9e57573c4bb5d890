-- Which named checks fail most often, by task family?
-- inputs: checks, attempts, tasks
select
    tasks.family,
    checks.check_name,
    count(*) as n,
    count(*) filter (not checks.passed) as failed,
    round(count(*) filter (not checks.passed) / count(*), 3) as fail_rate
from checks
join attempts on attempts.attempt_id = checks.attempt_id and attempts.counted
join tasks on tasks.task_id = checks.task_id and tasks.task_version = checks.task_version
where checks.is_latest
group by tasks.family, checks.check_name
having count(*) filter (not checks.passed) > 0
order by fail_rate desc, tasks.family, checks.check_name
limit 20;
