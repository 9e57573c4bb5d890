-- How far the requests of each finished attempt of the lean profile extend one another.
-- grain: one attempt; key: attempt_id; inputs: attempts
select
    attempt_id,
    prefix_breaks,
    upstream_errors
from attempts
where prefix_breaks is not null and ending = 'finished'
order by attempt_id
