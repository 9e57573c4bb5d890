-- Who recovers from a failed call, and after how many messages?
-- A failed call counts as recovered when a later call on the same target succeeds; as gone on, when a later call of the
-- same tool does (a wrong path given up for the right one).
-- inputs: tool_failures
select
    policy,
    tool,
    count(recovered) as n,
    count(*) filter (recovered) as recovered,
    round(count(*) filter (recovered) / nullif(count(recovered), 0), 3) as recovery_rate,
    median(steps_to_recover) as median_steps,
    count(*) filter (went_on) as went_on
from tool_failures
group by policy, tool
order by policy, tool;
