-- Accepted task versions that should not be, and why; empty when all is well.
-- grain: one accepted task version x fault; key: task, what
-- inputs: tasks, task_status, audits
with accepted as (
    select task_id, task_version, oracle_manifest is not null as has_oracle, len(expected_outputs) > 0 as has_outputs
    from tasks join task_status using (task_id, task_version)
    where status = 'accepted'
),
faults as (
    select a.task_id, a.task_version, a.has_oracle, a.has_outputs,
        max(p.score_code) filter (p.probe = 'untouched') as untouched,
        max(p.score_code) filter (p.probe = 'oracle') as oracle,
        count(*) filter (p.probe in ('zero_byte', 'placeholder', 'pasted_instruction') and p.passed) as worthless,
        count(*) filter (p.probe = 'repeat' and p.passed) as repeats
    from accepted a left join audits p using (task_id, task_version)
    group by all
)
select task_id || '@' || task_version as task, unnest(list_filter([
    case when untouched is null or untouched > 1e-9 then 'the untouched workspace earns ' || coalesce(untouched::varchar, 'nothing known') end,
    case when has_oracle and coalesce(oracle, 0) < 1 - 1e-9 then 'the reference solution does not earn 1' end,
    case when has_outputs and worthless < 3 then 'worthless outputs pay or were not tried' end,
    case when repeats < 1 then 'a second run differs or was not made' end
], x -> x is not null)) as what
from faults
order by task, what;
