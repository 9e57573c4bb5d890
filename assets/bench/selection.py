"""Choice of bench tasks by the paper's rule, from two finished runs of a suite by a strong and a small agent.

A task is kept when the strong agent's mean is at least .2, the small one's at most .6, and the strong one's is higher:
challenging, and telling the two apart. Tasks used in training or turned down in a review by a person are left out.
Belongs here: the rule and the event `suite.selected`. Does not belong here: running (`effect.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Final

from assets.bench.compare import find_run
from assets.bench.runs import KIND as RUN_KIND
from assets.bench.runs import BenchRun, Results, counted_by_rollout, latest_by_attempt, read_runs, results_of
from assets.bench.suites import KIND, SELECTED, load_suite, read_selections
from lake import Lake
from lake.errors import StageError, UsageError
from lake.ids import Json

PAPER_RUNS: Final = 4
"""Attempts per task and agent that the paper's rule looks at."""

LABELS: Final[Mapping[bool, str]] = {
    True: "selected by scripted teachers: these tasks tell the teachers apart; it says nothing of how hard they are",
    False: "selected by the paper's rule from runs of models",
}
"""What may be concluded from a selection, by whether scripted teachers made the runs."""


@dataclass(frozen=True)
class Bounds:
    """The rule's figures; those of the paper where not given."""

    strong_least: float = 0.2
    small_most: float = 0.6
    runs: int = PAPER_RUNS
    """Scored attempts per task that each run must have."""


@dataclass(frozen=True)
class Candidate:
    """A task of the suite chosen from, and what became of it."""

    task_id: str
    task_version: str
    strong_mean: float | None
    small_mean: float | None
    kept: bool
    reason: str
    """Why it was left out; empty where it was kept."""


@dataclass(frozen=True)
class Selection:
    """A selected suite."""

    suite: str
    label: str
    tasks: Sequence[Candidate]
    new: bool
    """False where the log holds the same selection already."""


def select(lake: Lake, name: str, strong: str, small: str, *, bounds: Bounds, actor: str) -> Selection:
    """Choose tasks and state them in the log as the suite `name`, which never changes afterwards.

    Args:
        lake: the lake.
        name: of the new suite.
        strong: the strong agent's run (an id, or a beginning).
        small: the small agent's run of the same suite version.
        bounds: the rule.
        actor: who selects.

    Raises:
        UsageError: the runs cannot be compared, or the name is taken by another suite.
        StageError: the runs have too few attempts, or no task is left.
    """
    lake.commit()
    runs = read_runs(lake.events(stream_kind=RUN_KIND))
    one, two = find_run(runs, strong), find_run(runs, small)
    _check(one, two, bounds)
    candidates = _candidates(lake, one, two, bounds)
    kept = sum(candidate.kept for candidate in candidates)
    if not kept:
        raise StageError(
            f"none of {len(candidates)} tasks of suite {one.suite} passes the rule, e.g. {candidates[0].task_id}: "
            f"{candidates[0].reason}; choose other runs"
        )
    payload: dict[str, Json] = {
        "suite": name, "from_suite": one.suite, "from_version": one.suite_version, "strong_run": one.bench_run_id,
        "small_run": two.bench_run_id, "score_column": one.score_column, "bounds": asdict(bounds),
        "label": LABELS[one.policy_kind == "scripted"], "tasks": [asdict(candidate) for candidate in candidates],
    }  # fmt: skip
    return Selection(name, payload["label"], candidates, _state(lake, name, payload, actor))


def _check(strong: BenchRun, small: BenchRun, bounds: Bounds) -> None:
    if (strong.suite, strong.suite_version, strong.score_column) != (
        small.suite, small.suite_version, small.score_column,
    ):  # fmt: skip
        raise UsageError(f"{strong.bench_run_id} and {small.bench_run_id} are not of the same tasks by the same score")
    if (strong.policy_kind == "scripted") != (small.policy_kind == "scripted"):
        raise UsageError(f"{strong.policy} and {small.policy}: a scripted teacher is not compared with a model")
    for run in (strong, small):
        if run.k < bounds.runs:
            raise StageError(
                f"run {run.bench_run_id} has {run.k} attempts a task, the rule looks at {bounds.runs}; "
                f"`clawgym bench run --set bench.repeats={bounds.runs}`, or lower --runs"
            )


def _candidates(lake: Lake, strong: BenchRun, small: BenchRun, bounds: Bounds) -> list[Candidate]:
    attempts, verdicts = counted_by_rollout(lake.rows("attempts")), latest_by_attempt(lake.rows("verdicts"))
    found = [results_of(run, attempts, verdicts) for run in (strong, small)]
    suite = load_suite(lake, strong.suite)
    if suite.version != strong.suite_version:
        raise StageError(
            f"suite {suite.name} is at version {suite.version}, the runs are of {strong.suite_version}; run both again"
        )
    barred = _barred(lake)
    return [_judge(str(task), str(version), found, barred, bounds) for task, version in suite.task_versions]


def _judge(task: str, version: str, results: Sequence[Results], barred: Mapping[str, str], bounds: Bounds) -> Candidate:
    scores = [found.scores.get(task, []) for found in results]
    strong, small = (fmean(values) if values else None for values in scores)
    reason = barred.get(task) or barred.get(f"{task}@{version}") or ""
    if not reason and (few := min(len(values) for values in scores)) < bounds.runs:
        reason = f"{few} scored attempts of {bounds.runs}"
    if not reason and strong is not None and small is not None:
        if strong < bounds.strong_least:
            reason = f"the strong agent's mean is below {bounds.strong_least:g}"
        elif small > bounds.small_most:
            reason = f"the small agent's mean is above {bounds.small_most:g}"
        elif strong <= small:
            reason = "the strong agent is not better"
    return Candidate(task, version, strong, small, not reason, reason)


def _barred(lake: Lake) -> dict[str, str]:
    """Tasks (by id) that were trained on, and task versions whose last review by a person is against them."""
    trained = lake.sql("select distinct task_id from sft_examples").fetchall()
    reviews = lake.sql(
        "select subject_id, arg_max(decision, (occurred_at, review_id)) from reviews"
        " where subject_kind = 'task' and starts_with(reviewer, 'person:') group by subject_id"
    ).fetchall()
    against = {str(subject): f"a person's review says {decision}" for subject, decision in reviews}
    return {
        **{subject: reason for subject, reason in against.items() if not reason.endswith("accept")},
        **{str(row[0]): "used in training" for row in trained},
    }


def _state(lake: Lake, name: str, payload: dict[str, Json], actor: str) -> bool:
    before = read_selections(lake).get(name)
    if before == payload:
        return False
    assigned = {row["split"] for row in lake.rows("task_status")}
    if before is not None or f"bench:{name}" in assigned:
        raise UsageError(f"there is a suite {name!r} with other tasks; suites do not change, choose another name")
    with lake.spool(actor) as spool:
        spool.stream(KIND, name).emit(SELECTED, payload)
    lake.commit()
    return True
