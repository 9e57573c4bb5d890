-- A page of task versions after filters, with how many there are in all.
-- grain: one task version
-- inputs: task_overview
-- parameters: $statuses, $splits, $families, $categories (lists, empty for any), $text, $limit, $offset
select
    task_id,
    task_version,
    family,
    bench_category,
    difficulty,
    status,
    split,
    reasons,
    input_count,
    counted,
    scripted_mean,
    scripted_n,
    model_mean,
    model_n,
    count(*) over () as total
from task_overview
where
    (len($statuses) = 0 or list_contains($statuses, status))
    and (len($splits) = 0 or list_contains($splits, split))
    and (len($families) = 0 or list_contains($families, family))
    and (len($categories) = 0 or list_contains($categories, bench_category))
    and ($text = '' or contains(lower(task_id || ' ' || instruction), lower($text)))
order by task_id, task_version
limit $limit offset $offset;
