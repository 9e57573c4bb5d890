-- How often does each tool fail, and how sure can we be?
-- inputs: tool_statistics
select
    tool,
    answered as n,
    errors,
    round(error_rate, 4) as error_rate,
    round(error_low, 4) as low_95,
    round(error_high, 4) as high_95
from tool_statistics
order by error_rate desc nulls last, tool;
