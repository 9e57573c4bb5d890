-- What the training filter decided, reason by reason.
-- grain: one reason
-- inputs: sft_decisions
select decision, reason, count(*) as n, (sum(count(*)) over ())::bigint as total
from sft_decisions
group by decision, reason
order by n desc, reason;
