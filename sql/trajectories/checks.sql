-- The verdicts of an attempt, latest first, with their checks.
-- grain: one verdict
-- inputs: verdicts
-- parameters: $attempt_id
select
    verdict_id,
    is_latest,
    status,
    score_code,
    score_rubric,
    score,
    wrapper_score,
    verifier_reward,
    checks_passed,
    checks_total,
    checks,
    detail,
    verifier_version,
    judge_version,
    graded_at,
    duration_s
from verdicts
where attempt_id = $attempt_id
order by is_latest desc, graded_at desc, verdict_id;
