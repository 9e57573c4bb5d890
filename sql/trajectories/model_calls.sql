-- The model calls of a trajectory as samples for training: what each was served and how it hangs together.
-- grain: one model call
-- inputs: samples
-- parameters: $trajectory_id
select
    call,
    step,
    kind,
    parent_call,
    shared_messages,
    transient_messages,
    status,
    finish_reason,
    len(prompt_token_ids) as prompt_tokens,
    len(completion_token_ids) as completion_tokens,
    response_id,
    record_key
from samples
where trajectory_id = $trajectory_id
order by call;
