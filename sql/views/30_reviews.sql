-- What people and models said about tasks, attempts and scores.
-- grain: one review; key: review_id
-- inputs: events (type review.recorded)
create or replace view reviews as
select
    stream_id as review_id,
    payload ->> 'subject_kind' as subject_kind,
    payload ->> 'subject_id' as subject_id,
    payload ->> 'decision' as decision,
    payload ->> 'reviewer' as reviewer,
    payload ->> 'note' as note,
    occurred_at,
    event_id
from events
where stream_kind = 'review' and type = 'review.recorded';
