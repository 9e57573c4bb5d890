"""Checks of the stage `bench`: the scores add up, and nothing that was trained on is in a suite."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean

from assets.stage import CheckOutcome, StageCheck
from lake import Lake
from lake.ids import Json


def scores_add_up(lake: Lake) -> CheckOutcome:
    """Suite and category rows follow from the task rows, intervals hold their mean, k = n + n_null for each task."""
    rows = lake.rows("bench_scores")
    runs: dict[str, dict[str, list[dict[str, Json]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        runs[row["bench_run_id"]][row["scope"]].append(row)
    faults = [f"{run_id}: {fault}" for run_id, scopes in runs.items() if (fault := _fault(scopes))]
    for row in rows:
        if row["low"] is not None and not row["low"] - 1e-9 <= row["mean"] <= row["high"] + 1e-9:
            faults.append(f"{row['bench_run_id']} {row['scope_value']}: mean {row['mean']} outside its interval")
    return CheckOutcome(not faults, f"{len(runs)} runs" + (f": {faults[0]}" if faults else ""), {"runs": len(runs)})


def no_training_on_the_test(lake: Lake) -> CheckOutcome:
    """No task of a bench suite, in any version, and no instruction of one, is among the training examples."""
    row = lake.sql(
        """
        with held as (
            select t.task_id, t.instruction from tasks as t
            inner join task_status as s using (task_id, task_version) where s.split like 'bench:%'
        ),
        used as (
            select e.task_id, t.instruction from sft_examples as e inner join tasks as t using (task_id, task_version)
        )
        select (select count(*) from held), count(*) from used
        where task_id in (select task_id from held) or instruction in (select instruction from held)
        """
    ).fetchone()
    held, leaked = row or (0, 1)
    return CheckOutcome(
        not leaked, f"{held} bench tasks, {leaked} training examples of theirs", {"leaked": int(leaked)}
    )


def _fault(scopes: dict[str, list[dict[str, Json]]]) -> str | None:
    tasks, suites = scopes["task"], scopes["suite"]
    if len(suites) != 1:
        return f"{len(suites)} suite rows"
    means = [row["mean"] for row in tasks if row["mean"] is not None]
    wanted = fmean(means) if means else None
    suite = suites[0]
    if (wanted is None) != (suite["mean"] is None) or (wanted is not None and abs(wanted - suite["mean"]) > 1e-9):
        return f"suite mean {suite['mean']} is not the mean of its tasks {wanted}"
    for name in ("tasks", "n", "n_null"):
        total = suite[name]
        if any(sum(row[name] for row in scopes[scope]) != total for scope in ("task", "category")):
            return f"{name} of tasks or categories do not add up to {total}"
    return next(
        (f"{row['scope_value']}: n + null is not k" for row in tasks if row["n"] + row["n_null"] != row["k"]), None
    )


CHECKS = (
    StageCheck(
        "bench_scores_add_up",
        "bench_scores",
        scores_add_up,
        "Suite and category rows follow from the task rows, and every interval holds its mean.",
    ),
    StageCheck(
        "bench_no_training_on_the_test",
        "bench_scores",
        no_training_on_the_test,
        "No bench task is among the training examples.",
    ),
)
