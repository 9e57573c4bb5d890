-- How well does each policy do in each bench category?
-- Scripted teachers and models are different things: read policy_kind before comparing.
-- The interval is the normal approximation and null for one score; `clawgym bench report` resamples tasks instead.
-- inputs: attempt_overview
select
    policy_kind,
    policy,
    bench_category,
    count(score_code) as n,
    round(avg(score_code), 3) as mean_score,
    round(mean_score - 1.96 * stddev_samp(score_code) / sqrt(n), 3) as low_95,
    round(mean_score + 1.96 * stddev_samp(score_code) / sqrt(n), 3) as high_95,
    round(count(*) filter (score_code >= 0.999) / nullif(count(score_code), 0), 3) as pass_rate
from attempt_overview
where counted
group by policy_kind, policy, bench_category
order by policy_kind, policy, bench_category;
