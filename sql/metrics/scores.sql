-- Mean code score of each policy over its counted attempts, purpose by purpose, with a normal 95 % interval.
-- grain: one policy x purpose
-- inputs: attempt_overview
-- n_null: counted attempts without a score (verifier or judge failed); they are out of the mean.
select
    policy_kind,
    policy,
    purpose,
    count(score_code) as n,
    count(*) - count(score_code) as n_null,
    avg(score_code) as mean,
    case when count(score_code) > 1 then
        greatest(0.0, avg(score_code) - 1.96 * stddev_samp(score_code) / sqrt(count(score_code)))
    end as low,
    case when count(score_code) > 1 then
        least(1.0, avg(score_code) + 1.96 * stddev_samp(score_code) / sqrt(count(score_code)))
    end as high,
    count(*) filter (score_code >= 0.999) as passed
from attempt_overview
where counted
group by policy_kind, policy, purpose
order by policy_kind, purpose, mean desc nulls last, policy;
