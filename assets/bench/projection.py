"""Table `bench_scores`: each finished run, whole, by category and by task.

Belongs here: rows from runs, attempts, verdicts and calls. Does not belong here: formulas (`statistics.py`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from assets.bench.calls import count_calls
from assets.bench.runs import (
    FINISHED,
    STARTED,
    BenchRun,
    Results,
    counted_by_rollout,
    latest_by_attempt,
    read_runs,
    results_of,
)
from assets.bench.statistics import mean_interval, suite_pass
from lake import Projection, View, rows_table
from lake.engine import SQL_ROOT
from lake.ids import Json

LABELS: Mapping[str, str] = {
    "scripted": "scripted teacher: checks the harness and the tasks, says nothing about a model",
    "checkpoint": "model trained here",
    "endpoint": "model behind an endpoint",
}
"""What may be concluded from a run, by kind of policy."""

UNCATEGORISED = "uncategorised"


def build(view: View) -> Mapping[str, pa.Table]:
    """Rows of all finished runs."""
    runs = read_runs(view.events())
    attempts = counted_by_rollout(view.table("attempts").drop_columns(["ending_detail"]).to_pylist())
    verdicts = latest_by_attempt(view.table("verdicts").drop_columns(["checks", "detail"]).to_pylist())
    tasks = view.table("tasks").select(["task_id", "bench_category"]).to_pylist()
    categories = {row["task_id"]: row["bench_category"] or UNCATEGORISED for row in tasks}
    results = {run_id: results_of(run, attempts, verdicts) for run_id, run in runs.items()}
    calls = _calls(view, [a for found in results.values() for ids in found.attempts.values() for a in ids])
    rows = [row for run_id, run in runs.items() for row in _rows(run, results[run_id], categories, calls)]
    return {"bench_scores": rows_table("bench_scores", rows)}


def _rows(
    run: BenchRun, results: Results, categories: Mapping[str, str], calls: Mapping[str, tuple[int, int]]
) -> Iterator[dict[str, Json]]:
    tasks = sorted(results.scores)
    by_category: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        by_category[categories.get(task, UNCATEGORISED)].append(task)
    scopes = [("suite", run.suite, tasks)]
    scopes += [("category", category, members) for category, members in sorted(by_category.items())]
    scopes += [("task", task, [task]) for task in tasks]
    for scope, value, members in scopes:
        yield {
            "bench_run_id": run.bench_run_id,
            "suite": run.suite,
            "suite_version": run.suite_version,
            "policy": run.policy,
            "policy_kind": run.policy_kind,
            "scope": scope,
            "scope_value": value,
            "k": run.k,
            "label": LABELS[run.policy_kind],
            **_figures(run, results, members),
            "valid_call_rate": _rate([calls[a] for task in members for a in results.attempts[task] if a in calls]),
        }


def _figures(run: BenchRun, results: Results, tasks: Sequence[str]) -> dict[str, Json]:
    scores = {task: results.scores[task] for task in tasks}
    interval = mean_interval(scores, resamples=run.resamples, seed=run.seed)
    first, at_k, hat_k = suite_pass(scores, run.k)
    return {
        "tasks": len(tasks),
        "n": sum(len(values) for values in scores.values()),
        "n_null": sum(results.nulls[task] for task in tasks),
        "mean": interval.mean if interval else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "pass_at_1": first,
        "pass_at_k": at_k,
        "pass_hat_k": hat_k,
    }


def _rate(counts: Sequence[tuple[int, int]]) -> float | None:
    tried = sum(count for count, _ in counts)
    return sum(valid for _, valid in counts) / tried if tried else None


def _calls(view: View, attempt_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """(tried, valid) tool calls by attempt, from what the proxy recorded."""
    query = (SQL_ROOT / "bench" / "completions.sql").read_text()
    counts: dict[str, tuple[int, int]] = {}
    for row in view.sql(query, {"attempt_ids": sorted(set(attempt_ids))}).to_pylist():
        tools = json.loads(row["tools"]) if row["tools"] else []
        tried, valid = count_calls(json.loads(row["completion"]), tools)
        before = counts.get(row["attempt_id"], (0, 0))
        counts[row["attempt_id"]] = (before[0] + tried, before[1] + valid)
    return counts


PROJECTION = Projection(
    name="bench",
    version=1,
    outputs=("bench_scores",),
    events=(STARTED, FINISHED),
    build=build,
    tables=("tasks", "attempts", "trajectories", "samples", "verdicts"),
)
