-- Tasks that only one of two bench runs passes in most attempts, with both means.
-- grain: one task that changed side between two bench runs
-- inputs: bench_comparisons, bench_scores
-- parameters: $first_run_id, $second_run_id
with pair as (
    select * from bench_comparisons where first_run_id = $first_run_id and second_run_id = $second_run_id
),
flipped as (
    select unnest(gained) as task_id, 'gained' as change from pair
    union all
    select unnest(lost), 'lost' from pair
)
select flipped.task_id, flipped.change, one.mean as first_mean, two.mean as second_mean
from flipped
left join bench_scores as one
    on one.bench_run_id = $first_run_id and one.scope = 'task' and one.scope_value = flipped.task_id
left join bench_scores as two
    on two.bench_run_id = $second_run_id and two.scope = 'task' and two.scope_value = flipped.task_id
order by flipped.change, flipped.task_id;
