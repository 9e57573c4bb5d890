"""Two bench runs side by side, task by task.

Belongs here: which runs may be compared, and doing it. Does not belong here: formulas (`statistics.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from assets.bench.runs import KIND, BenchRun, Results, counted_by_rollout, latest_by_attempt, read_runs, results_of
from assets.bench.statistics import Comparison, VarianceSplit, compare_scores, variance_split
from lake import Lake
from lake.errors import UsageError


@dataclass(frozen=True)
class RunComparison:
    """Two runs and how they differ, second minus first."""

    first: BenchRun
    second: BenchRun
    figures: Comparison
    nulls: tuple[int, int]
    """Rollouts without a score in each run; tasks with none in either take no part."""
    variance: tuple[VarianceSplit | None, VarianceSplit | None]


def compare(lake: Lake, first: str, second: str) -> RunComparison:
    """Compare two finished runs of the same suite by bench_run_id, or by a prefix of it that is unique.

    Raises:
        UsageError: a run is not known or not finished, the suites differ, or one is of a scripted teacher and the
            other of a model: those never stand in one table.
    """
    runs = read_runs(lake.events(stream_kind=KIND))
    one, two = find_run(runs, first), find_run(runs, second)
    if (one.suite, one.suite_version) != (two.suite, two.suite_version):
        raise UsageError(
            f"{one.bench_run_id} is of suite {one.suite}@{one.suite_version}, {two.bench_run_id} of "
            f"{two.suite}@{two.suite_version}; only runs of the same tasks can be compared"
        )
    if one.score_column != two.score_column:
        raise UsageError(
            f"{one.bench_run_id} was scored by {one.score_column}, {two.bench_run_id} by {two.score_column}; "
            "only runs by the same score can be compared"
        )
    if (one.policy_kind == "scripted") != (two.policy_kind == "scripted"):
        raise UsageError(f"{one.policy} and {two.policy}: a scripted teacher is not compared with a model")
    attempts, verdicts = counted_by_rollout(lake.rows("attempts")), latest_by_attempt(lake.rows("verdicts"))
    found = [results_of(run, attempts, verdicts) for run in (one, two)]
    figures = compare_scores(found[0].scores, found[1].scores, resamples=one.resamples, seed=one.seed)
    return RunComparison(
        one, two, figures, (_nulls(found[0]), _nulls(found[1])),
        (variance_split(found[0].scores), variance_split(found[1].scores)),
    )  # fmt: skip


def _nulls(results: Results) -> int:
    return sum(results.nulls.values())


def find_run(runs: dict[str, BenchRun], name: str) -> BenchRun:
    """The finished run whose id begins with `name`.

    Raises:
        UsageError: there is none, or several.
    """
    found = [run for run_id, run in runs.items() if name and run_id.startswith(name)]
    if len(found) != 1:
        known = ", ".join(f"{run.bench_run_id} ({run.policy})" for run in runs.values()) or "none"
        raise UsageError(f"{len(found)} finished bench runs begin with {name!r}; finished runs: {known}")
    return found[0]
