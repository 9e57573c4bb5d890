-- What does an attempt cost in model calls, tokens and time, by policy and ending?
-- Tokens as the endpoint stated them; null where it stated none.
-- inputs: llm_calls, attempts
with spent as (
    select
        attempt_id,
        count(*) as calls,
        sum(prompt_tokens)::bigint as prompt_tokens,
        sum(completion_tokens)::bigint as completion_tokens
    from llm_calls
    group by attempt_id
)
select
    attempts.policy,
    attempts.ending,
    count(*) as n,
    round(avg(spent.calls), 2) as mean_calls,
    round(avg(spent.prompt_tokens), 0)::bigint as mean_prompt_tokens,
    round(avg(spent.completion_tokens), 0)::bigint as mean_completion_tokens,
    round(avg(attempts.duration_s), 2) as mean_seconds
from attempts
join spent using (attempt_id)
group by attempts.policy, attempts.ending
order by attempts.policy, attempts.ending;
