-- How often each tool was called and how often it failed.
-- grain: one tool; key: tool
-- inputs: tool_calls
-- error_rate = errors / answered calls, with its Wilson 95 % interval; calls without a result are in neither.
create or replace view tool_statistics as
with counts as (
    select
        tool,
        count(*) as calls,
        count(distinct trajectory_id) as trajectories,
        count(is_error) as answered,
        count(*) - count(is_error) as unanswered,
        count(*) filter (is_error) as errors,
        median(duration_ms) as median_duration_ms,
        quantile_cont(duration_ms, 0.9) as p90_duration_ms,
        median(result_chars) as median_result_chars
    from tool_calls
    group by tool
)
select
    tool,
    calls,
    trajectories,
    answered,
    unanswered,
    errors,
    errors / nullif(answered, 0) as error_rate,
    case when errors = 0 and answered > 0 then 0.0 else (
        errors + 1.9208 - 1.96 * sqrt(errors * (answered - errors) / nullif(answered, 0) + 0.9604)
    ) / (answered + 3.8416) end as error_low,
    case when errors = answered and answered > 0 then 1.0 else (
        errors + 1.9208 + 1.96 * sqrt(errors * (answered - errors) / nullif(answered, 0) + 0.9604)
    ) / (answered + 3.8416) end as error_high,
    median_duration_ms,
    p90_duration_ms,
    median_result_chars
from counts
order by calls desc, tool;
