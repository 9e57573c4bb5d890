-- A page of trajectories after filters, with how many there are in all, and which columns tell anything of any (`told`).
-- grain: one trajectory
-- inputs: trajectory_overview
-- parameters: $policies, $models, $classes, $endings, $decisions, $families (lists, empty for any), $text, $score_low,
-- parameters: $score_high, $unscored, $sort, $limit, $offset
select
    trajectory_id,
    task_id,
    model,
    policy,
    class,
    ending,
    score_code,
    case when checks_total is not null then format('{}/{}', checks_passed, checks_total) end as checks,
    turns,
    tool_calls,
    tool_errors,
    text_tokens,
    sft_reason,
    started_at,
    attempt_id,
    session_id,
    count(*) over () as total,
    {
        'policy': count(attempt_id) over () > 0,
        'score_code': count(score_code) over () > 0,
        'checks': count(checks_total) over () > 0,
        'ending': count(ending) over () > 0,
        'sft_reason': count(sft_reason) over () > 0
    } as told
from trajectory_overview
where
    (len($policies) = 0 or list_contains($policies, policy))
    and (len($models) = 0 or list_contains($models, model))
    and (len($classes) = 0 or list_contains($classes, class))
    and (len($endings) = 0 or list_contains($endings, ending))
    and (len($decisions) = 0 or list_contains($decisions, sft_reason))
    and (len($families) = 0 or list_contains($families, family))
    and ($text = '' or contains(lower(concat_ws(' ', trajectory_id, attempt_id, session_id, task_id)), lower($text)))
    and coalesce(score_code between $score_low and $score_high, $unscored)
order by
    case $sort when 'lowest score' then score_code end nulls last,
    case $sort when 'highest score' then -score_code end nulls last,
    case $sort
        when 'most turns' then turns
        when 'most tool calls' then tool_calls
        when 'most tool errors' then tool_errors
        when 'most tokens' then text_tokens
    end desc nulls last,
    started_at desc nulls last,
    trajectory_id
limit $limit offset $offset;
