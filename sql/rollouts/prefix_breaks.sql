-- How far the requests of each ended lean attempt extend one another.
-- grain: one attempt; key: attempt_id; inputs: attempts
select
    attempt_id,
    prefix_breaks,
    upstream_errors
from attempts
where prefix_breaks is not null and ending_kind = 'agent'
order by attempt_id
