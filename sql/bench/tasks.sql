-- A page of the scores of one bench run, task by task, lowest first.
-- grain: one task of one bench run
-- inputs: bench_scores, tasks
-- parameters: $bench_run_id, $limit, $offset
with described as (
    select task_id, any_value(bench_category) as bench_category, any_value(difficulty) as difficulty
    from tasks
    group by task_id
)
select
    scores.scope_value as task_id,
    described.bench_category,
    described.difficulty,
    scores.mean,
    scores.n,
    scores.n_null,
    scores.k,
    scores.pass_at_1,
    scores.valid_call_rate,
    count(*) over () as total
from bench_scores as scores
left join described on described.task_id = scores.scope_value
where scores.scope = 'task' and scores.bench_run_id = $bench_run_id
order by scores.mean nulls last, task_id
limit $limit offset $offset;
