-- What the filters of the trajectories page can be set to.
-- grain: one value of one filter
-- inputs: trajectory_overview
with chosen as (
    unpivot (select policy, model, class, ending, sft_reason, family from trajectory_overview)
    on policy, model, class, ending, sft_reason, family into name filter value choice
)
select filter, choice, count(*) as n
from chosen
group by filter, choice
order by filter, n desc, choice;
