-- How well does each policy do in each bench category?
-- Scripted teachers and models are different things: read policy_kind before comparing.
-- inputs: attempt_overview
select
    policy_kind,
    policy,
    bench_category,
    count(score_code) as n,
    round(avg(score_code), 3) as mean_score,
    round(count(*) filter (score_code >= 0.999) / nullif(count(score_code), 0), 3) as pass_rate
from attempt_overview
where counted
group by policy_kind, policy, bench_category
order by policy_kind, policy, bench_category;
