-- What did each model use, and how much of its price is known?
-- Tokens as the provider stated them, cached ones counted once; copied turns are not counted again. A price of 0 for a
-- turn that used tokens is no price: the sum over the others is then a lower bound, and null where none has one.
-- inputs: steps
with answers as (
    select
        coalesce(model, '(not stated)') as model,
        usage is not null and (input_tokens is not null or output_tokens is not null) as has_usage,
        input_tokens,
        output_tokens,
        coalesce(
            try_cast(usage ->> '$.cacheRead' as bigint),
            try_cast(usage ->> '$.cache_read_input_tokens' as bigint),
            try_cast(usage ->> '$.prompt_tokens_details.cached_tokens' as bigint)
        ) as cached_tokens,
        nullif(try_cast(usage ->> '$.cost.total' as double), 0) as cost
    from steps
    where role = 'assistant' and not coalesce(copied_context, false)
)
select
    model,
    count(*) as turns,
    count(*) filter (has_usage) as turns_with_usage,
    sum(input_tokens)::bigint as input_tokens,
    sum(cached_tokens)::bigint as of_them_cached,
    sum(output_tokens)::bigint as output_tokens,
    round(sum(cost), 6) as cost,
    count(cost) as turns_with_price,
    count(cost) between 1 and count(*) filter (has_usage) - 1 as cost_is_a_lower_bound
from answers
group by model
order by model;
