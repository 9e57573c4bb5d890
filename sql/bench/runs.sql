-- Bench runs, scripted teachers and models marked, with the score of the whole suite.
-- grain: one bench run
-- inputs: bench_scores
select *
from bench_scores
where scope = 'suite'
order by suite, policy_kind = 'scripted', mean desc nulls last, policy, bench_run_id;
