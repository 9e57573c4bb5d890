-- How attempts ended, endings of the agent and of the infrastructure apart.
-- grain: one ending x policy
-- inputs: attempts
select
    coalesce(ending_kind, state) as ending_kind,
    coalesce(ending, state) as ending,
    policy,
    count(*) as n
from attempts
group by all
order by ending_kind, n desc, ending, policy;
