-- What reviewers said about a task version.
-- grain: one review
-- inputs: reviews
-- parameters: $subject_id
select decision, reviewer, note, occurred_at
from reviews
where subject_kind = 'task' and subject_id = $subject_id
order by occurred_at desc, review_id;
