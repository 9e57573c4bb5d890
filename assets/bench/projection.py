"""Tables `bench_scores` (each finished run, whole, by category and by task) and `bench_comparisons` (two by two).

Belongs here: rows from runs, attempts, verdicts and calls. Does not belong here: formulas (`statistics.py`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import pyarrow as pa

from assets.bench.calls import count_calls
from assets.bench.runs import (
    FINISHED,
    STARTED,
    BenchRun,
    Results,
    alike,
    counted_by_rollout,
    latest_by_attempt,
    read_runs,
    results_of,
)
from assets.bench.statistics import compare_scores, mean_interval, suite_pass
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
    pairs = [_pair(first, second, results) for first, second in combinations(runs.values(), 2) if alike(first, second)]
    return {
        "bench_scores": rows_table("bench_scores", rows),
        "bench_comparisons": rows_table("bench_comparisons", pairs),
    }


def _pair(first: BenchRun, second: BenchRun, results: Mapping[str, Results]) -> dict[str, Json]:
    one, two = results[first.bench_run_id].scores, results[second.bench_run_id].scores
    figures = compare_scores(one, two, resamples=first.resamples, seed=first.seed)
    some = figures.tasks > 0
    return {
        "first_run_id": first.bench_run_id,
        "second_run_id": second.bench_run_id,
        "suite": first.suite,
        "suite_version": first.suite_version,
        "first_policy": first.policy,
        "second_policy": second.policy,
        "scripted": first.policy_kind == "scripted",
        "score_column": first.score_column,
        "tasks": figures.tasks,
        "first_mean": figures.first if some else None,
        "second_mean": figures.second if some else None,
        "difference": figures.difference.mean if some else None,
        "low": figures.difference.low,
        "high": figures.difference.high,
        "p_value": figures.p_value,
        "better": figures.better,
        "worse": figures.worse,
        "equal": figures.equal,
        "gained": list(figures.gained),
        "lost": list(figures.lost),
    }


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
            "score_column": run.score_column,
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
    version=2,
    outputs=("bench_scores", "bench_comparisons"),
    events=(STARTED, FINISHED),
    build=build,
    tables=("tasks", "attempts", "trajectories", "samples", "verdicts"),
)
