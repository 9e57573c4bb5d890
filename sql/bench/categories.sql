-- Scores of the runs of a suite by category.
-- grain: one bench run x category
-- inputs: bench_scores
-- parameters: $suite, $suite_version
select *
from bench_scores
where scope = 'category' and suite = $suite and suite_version = $suite_version
order by policy_kind = 'scripted', policy, bench_run_id, scope_value;
