-- Sessions taken in as external logs, by the model that answered most of each.
-- grain: one model
-- inputs: trajectories
select
    coalesce(model, 'unknown model') as model,
    count(distinct session_id) as sessions,
    count(*) as trajectories,
    sum(turns)::bigint as turns,
    sum(tool_calls)::bigint as tool_calls,
    sum(tool_errors)::bigint as tool_errors,
    count(*) filter (class <> 'normal') as not_normal,
    max(started_at) as newest
from trajectories
where attempt_id is null
group by 1
order by sessions desc, model;
