-- Verdicts whose figures contradict each other, and how: a score out of bounds, a score without a grading, a zero that
-- stands for "not known", a grading of an infrastructure ending. Empty when all is well.
-- grain: one verdict x fault; key: verdict_id, fault
-- inputs: verdicts, attempts, tasks
with judged as (
    select verdicts.*, attempts.ending_kind, coalesce(tasks.rubric, '[]') <> '[]' as has_rubric
    from verdicts
    left join attempts using (attempt_id)
    left join tasks on tasks.task_id = verdicts.task_id and tasks.task_version = verdicts.task_version
)
select verdict_id, unnest(list_filter([
    case when not coalesce(score_code between 0 and 1, true) then 'score_code is out of bounds' end,
    case when not coalesce(wrapper_score between 0 and 1, true) then 'wrapper_score is out of bounds' end,
    case when (status = 'scored') <> (score_code is not null) then 'scored and score_code disagree' end,
    case when status <> 'scored' and coalesce(score, verifier_reward, wrapper_score) is not null
        then 'a score without a grading' end,
    case when status <> 'scored' and detail is null then 'no score and no reason' end,
    case when status = 'scored' and ending_kind = 'infrastructure' then 'an infrastructure ending is scored' end,
    case when has_rubric and score_rubric is null and score is not null then 'score without its rubric half' end,
    case when status = 'scored' and not has_rubric and score is distinct from score_code
        then 'score is not score_code though the task has no rubric' end
], x -> x is not null)) as fault
from judged
order by verdict_id, fault;
