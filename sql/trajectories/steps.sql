-- A page of the messages of a trajectory, without the tool messages that stand under their call.
-- grain: one message
-- inputs: steps, tool_calls
-- parameters: $trajectory_id, $limit, $offset, $chars
-- Texts are cut at $chars characters; text_chars and thinking_chars are their whole lengths.
with answered as (
    select result_step from tool_calls where trajectory_id = $trajectory_id and result_step is not null
),
mine as (
    select * from steps where trajectory_id = $trajectory_id
)
select
    step,
    role,
    left(text, $chars) as text,
    length(text) as text_chars,
    left(thinking, $chars) as thinking,
    length(thinking) as thinking_chars,
    call_count,
    tool_call_id,
    is_error,
    stop_reason,
    model,
    input_tokens,
    output_tokens,
    ts,
    epoch_ms(ts) - epoch_ms(lag(ts) over (order by step)) as since_previous_ms,
    record_key,
    count(*) over () as total
from mine
where role <> 'tool' or step not in (select result_step from answered)
order by step
limit $limit offset $offset;
