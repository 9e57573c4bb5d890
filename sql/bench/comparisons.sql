-- Pairs of bench runs of a suite version, scripted teachers and models marked.
-- grain: two bench runs
-- inputs: bench_comparisons
-- parameters: $suite, $suite_version
select *
from bench_comparisons
where suite = $suite and suite_version = $suite_version
order by scripted, first_policy, second_policy, first_run_id, second_run_id;
