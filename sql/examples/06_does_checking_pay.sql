-- Do runs that look at their product after the last write score higher?
-- An association, not a cause: better policies do both.
-- inputs: written_files, trajectory_overview
with looked as (
    select trajectory_id, bool_and(verified) as all_verified from written_files group by trajectory_id
)
select
    runs.policy,
    looked.all_verified,
    count(runs.score_code) as n,
    round(avg(runs.score_code), 3) as mean_score
from looked
join trajectory_overview as runs using (trajectory_id)
where runs.score_code is not null
group by runs.policy, looked.all_verified
order by runs.policy, looked.all_verified;
