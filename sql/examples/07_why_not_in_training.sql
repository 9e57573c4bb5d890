-- Why is a trajectory not in the training set?
-- inputs: sft_decisions
select
    decision,
    reason,
    count(*) as n,
    round(count(*) / sum(count(*)) over (), 3) as share,
    round(avg(score), 3) as mean_score
from sft_decisions
group by decision, reason
order by n desc, reason;
