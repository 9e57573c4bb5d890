"""The published cases that are about rewards, resuming, training and metrics: the tests that cover them.

Belongs here: names of tests (a test checks that each exists). Does not belong here: cases of recorded sessions
(`cases`).
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Elsewhere(NamedTuple):
    """A published case outside the conformance set."""

    of: str
    topic: str
    tests: tuple[str, ...]
    """`file::function` below tests/; none where no stage covers it yet."""
    open: str = ""
    """What no test covers yet, and the stage it belongs to."""


ELSEWHERE: Final = (
    Elsewhere(
        "C16", "agent-written reward file",
        (
            "grading/test_grade.py::test_a_script_of_the_agent_cannot_print_a_score",
            "grading/test_grade.py::test_files_planted_by_the_agent_are_not_imported",
            "grading/test_grade.py::test_network_and_host_are_out_of_reach",
            "audits/test_audits.py::test_a_sound_task_is_accepted_and_every_probe_is_a_row",
        ),
    ),
    Elsewhere(
        "C17", "orchestrator killed",
        (
            "rollouts/test_faults.py::test_a_killed_runner_takes_its_agent_with_it_and_the_next_goes_on",
            "rollouts/test_faults.py::test_crash_points",
            "rollouts/test_projection.py::test_what_a_dead_runner_left_is_lost_once",
        ),
    ),
    Elsewhere(
        "C18", "grading races and judge failures",
        (
            "grading/test_grade.py::test_the_frozen_workspace_is_never_changed",
            "grading/test_grade.py::test_a_broken_grade_is_an_error_with_a_reason_never_a_zero",
            "verdicts/test_verdicts.py::test_a_task_with_a_rubric_has_no_score_until_judged",
        ),
        "a judge that fails: with the judge, stage verdicts",
    ),
    Elsewhere(
        "C19", "resume changes finished rows",
        (
            "rollouts/test_rollouts.py::test_nothing_is_run_twice_and_the_tables_are_the_same_again",
            "lake/test_crash.py::test_run_again_after_kill_equals_undisturbed_run",
        ),
    ),
    Elsewhere(
        "C20", "one failed rollout spoils the step",
        (
            "rollouts/test_outcome.py::test_endings",
            "verdicts/test_verdicts.py::test_infrastructure_endings_are_not_graded_and_never_zero",
            "bench/test_run.py::test_one_that_fails_does_not_keep_the_others",
        ),
        "a least share of valid rollouts in an RL step: with GRPO, stage checkpoints",
    ),
    Elsewhere(
        "C21", "wrong loss masks",
        (
            "training/test_tokenise.py::test_ids_and_mask_equal_those_of_the_template",
            "training/test_tokenise.py::test_decoded_mask_is_what_the_assistant_said",
            "training/test_tokenise.py::test_a_wrong_mask_is_found",
        ),
    ),
    Elsewhere(
        "C22", "wrong or missing token ids",
        (
            "training/server/test_server.py::test_ids_are_exact",
            "training/server/test_server.py::test_turns_come_back_with_the_tokens_they_were_made_of",
            "trajectories/test_served.py::test_exact_tokens_of_a_server_that_gives_them_are_kept",
        ),
        "the rate of mismatches as a metric of capture: with GRPO, stage checkpoints",
    ),
    Elsewhere(
        "C23", "plausible zeros in dashboards",
        (
            "bench/test_scores.py::test_nulls_stay_out_of_the_mean_and_are_counted",
            "dashboards/test_pages.py::test_overview_gives_every_rate_its_denominator",
            "dashboards/test_pages.py::test_a_score_range_leaves_out_what_has_no_score",
        ),
    ),
    Elsewhere(
        "C24", "interrupted generation starts anew",
        ("audits/test_audits.py::test_a_second_run_does_nothing_and_a_killed_one_goes_on",
         "lake/test_spool.py::test_effect_done_twice_counts_once"),
    ),
    Elsewhere(
        "C25", "contamination check that cannot fail",
        ("bench/test_scores.py::test_training_on_the_test_is_found",
         "audits/test_audits.py::test_bench_and_train_do_not_share_a_task"),
        "leaks at several levels of paraphrase: with the novelty check, stage bench",
    ),
)  # fmt: skip
"""C16 to C25."""
