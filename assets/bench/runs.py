"""Bench runs as the log states them, and the scores their rollouts have by now.

Belongs here: the events of a run, joining its rollouts with attempts and verdicts. Does not belong here: statistics.

A run names its rollouts, not verdicts: when a verifier is repaired and attempts are graded again, the scores follow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from lake import Event
from lake.ids import Json

KIND: Final = "bench"
STARTED, FINISHED = "bench.started", "bench.finished"


@dataclass(frozen=True)
class BenchRun:
    """One policy on one suite."""

    bench_run_id: str
    suite: str
    suite_version: str
    policy: str
    policy_kind: str
    score_column: str
    k: int
    """Rollouts per task."""
    seed: int
    resamples: int
    rollouts: Mapping[str, str]
    """Rollout id to task id."""


@dataclass
class Results:
    """What the rollouts of a run came to."""

    scores: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Task to scores, every task of the run present."""
    nulls: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Task to rollouts without a score."""
    attempts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Task to its counted attempts."""


def alike(first: BenchRun, second: BenchRun) -> bool:
    """Whether two runs may be compared: the same tasks, the same score, and not a scripted teacher with a model."""
    return (
        (first.suite, first.suite_version, first.score_column)
        == (second.suite, second.suite_version, second.score_column)
    ) and (first.policy_kind == "scripted") == (second.policy_kind == "scripted")


def read_runs(events: Iterable[Event], *, finished: bool = True) -> dict[str, BenchRun]:
    """Runs by id; those that are not finished only where asked for."""
    runs: dict[str, BenchRun] = {}
    done: set[str] = set()
    for event in events:
        if event.type == STARTED:
            stated = {name: event.payload[name] for name in BenchRun.__dataclass_fields__ if name != "bench_run_id"}
            runs[event.stream_id] = BenchRun(event.stream_id, **stated)
        elif event.type == FINISHED:
            done.add(event.stream_id)
    return {run_id: run for run_id, run in sorted(runs.items()) if run_id in done or not finished}


def results_of(
    run: BenchRun, attempts: Mapping[str, Mapping[str, Json]], verdicts: Mapping[str, Mapping[str, Json]]
) -> Results:
    """Scores of a run's rollouts.

    Args:
        run: the run.
        attempts: counted attempts by rollout id.
        verdicts: latest verdicts by attempt id.
    """
    results = Results()
    for rollout_id, task in sorted(run.rollouts.items(), key=lambda item: (item[1], item[0])):
        attempt = attempts.get(rollout_id)
        verdict = verdicts.get(str(attempt["attempt_id"])) if attempt else None
        score = verdict[run.score_column] if verdict else None
        results.scores[task] += [] if score is None else [float(score)]
        results.nulls[task] += score is None
        if attempt:
            results.attempts[task].append(str(attempt["attempt_id"]))
    return results


def counted_by_rollout(attempts: Iterable[Mapping[str, Json]]) -> dict[str, Mapping[str, Json]]:
    """The counted attempt of each rollout that has one."""
    return {str(row["rollout_id"]): row for row in attempts if row["counted"]}


def latest_by_attempt(verdicts: Iterable[Mapping[str, Json]]) -> dict[str, Mapping[str, Json]]:
    """The latest verdict of each attempt."""
    return {str(row["attempt_id"]): row for row in verdicts if row["is_latest"]}
