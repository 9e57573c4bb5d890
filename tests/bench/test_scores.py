"""Scores from the log: what is null stays out and is counted, regrading is followed, checks can fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import pytest

from assets.bench.calls import count_calls
from assets.bench.checks import no_training_on_the_test, scores_add_up
from assets.bench.compare import compare
from assets.bench.projection import LABELS, PROJECTION
from assets.bench.runs import FINISHED, KIND, STARTED, BenchRun
from assets.bench.suites import load_suite
from lake import Lake
from lake import open as open_lake
from lake.errors import StageError, UsageError
from lake.ids import Json, canonical, digest
from tests.sft.rows import put
from tests.training.conversations import TOOLS, call

CATEGORIES = {"a": "analysis", "b": "analysis", "c": "software"}


def state(
    opened: Lake, name: str, policy: str, kind: str, k: int, *, version: str = "v1", finished: bool = True
) -> str:
    """State a run of the three tasks in the log."""
    run = BenchRun(
        digest(name), "demo", version, policy, kind, "score", k, 7, 500,
        {f"{name}/{task}/{repeat}": task for task in CATEGORIES for repeat in range(k)},
    )  # fmt: skip
    with opened.spool("test") as spool:
        stream = spool.stream(KIND, run.bench_run_id)
        stream.emit(STARTED, {key: value for key, value in asdict(run).items() if key != "bench_run_id"})
        if finished:
            stream.emit(FINISHED, {"attempt_ids": []})
    opened.commit()
    return run.bench_run_id


def attempt(rollout: str, no: int = 0, **more: Json) -> dict[str, Json]:
    row: dict[str, Json] = {"rollout_id": rollout, "attempt_no": no, "attempt_id": f"{rollout}#{no}", "counted": True}
    return {**row, "purpose": "bench", "state": "ended", "ending_kind": "agent", **more}


def verdict(rollout: str, score: float | None, no: int = 0, **more: Json) -> dict[str, Json]:
    row: dict[str, Json] = {"verdict_id": f"{rollout}#{no}", "attempt_id": f"{rollout}#{no}", "score": score}
    return {**row, "is_latest": True, "checks": "{}", **more}


def fill(opened: Lake, scores: Mapping[str, float | None]) -> None:
    put(opened, "tasks", [_task(task) for task in CATEGORIES])
    put(opened, "attempts", [attempt(rollout) for rollout in scores])
    put(opened, "verdicts", [verdict(rollout, score) for rollout, score in scores.items()])


def _task(task: str) -> dict[str, Json]:
    return {
        "task_id": task,
        "task_version": f"{task}1",
        "bench_category": CATEGORIES[task],
        "instruction": f"do {task}",
    }


def scores_of(opened: Lake) -> dict[tuple[str, str], dict[str, Json]]:
    opened.build(PROJECTION)
    return {(row["scope"], row["scope_value"]): row for row in opened.rows("bench_scores")}


@pytest.fixture
def opened(tmp_path: Path) -> Lake:
    return open_lake(tmp_path / "lake")


def test_whole_by_category_and_by_task(opened: Lake) -> None:
    state(opened, "r", "openai:m", "endpoint", 2)
    fill(opened, {"r/a/0": 1.0, "r/a/1": 1.0, "r/b/0": 1.0, "r/b/1": 0.5, "r/c/0": 0.0, "r/c/1": 0.2})
    rows = scores_of(opened)
    suite = rows[("suite", "demo")]
    assert suite["mean"] == pytest.approx((1 + 0.75 + 0.1) / 3)
    assert suite["low"] < suite["mean"] < suite["high"]
    assert (suite["tasks"], suite["n"], suite["n_null"], suite["k"]) == (3, 6, 0, 2)
    assert suite["pass_at_1"] == pytest.approx(0.5) and suite["pass_hat_k"] == pytest.approx(1 / 3)
    assert suite["pass_at_k"] == pytest.approx(2 / 3) and suite["valid_call_rate"] is None
    assert rows[("category", "analysis")]["mean"] == pytest.approx(0.875)
    assert rows[("category", "software")]["low"] is None  # one task leaves nothing to draw
    assert rows[("task", "b")]["mean"] == 0.75 and rows[("task", "b")]["low"] is None
    assert scores_add_up(opened).passed


def test_nulls_stay_out_of_the_mean_and_are_counted(opened: Lake) -> None:
    """No attempt, an attempt of infrastructure, no verdict, a verdict without score."""
    state(opened, "r", "openai:m", "endpoint", 2)
    fill(opened, {"r/a/0": 1.0, "r/a/1": 0.5, "r/b/0": None, "r/c/0": 1.0})
    lost = attempt("r/b/1", counted=False, ending_kind="infrastructure")
    put(opened, "attempts", [*opened.rows("attempts"), lost, attempt("r/c/1")])
    rows = scores_of(opened)
    assert (rows[("suite", "demo")]["n"], rows[("suite", "demo")]["n_null"]) == (3, 3)
    assert rows[("suite", "demo")]["mean"] == pytest.approx((0.75 + 1.0) / 2)
    assert (rows[("task", "b")]["mean"], rows[("task", "b")]["n_null"]) == (None, 2)
    assert rows[("suite", "demo")]["pass_hat_k"] == 0.0  # over task a alone, the only one with two scored attempts
    assert scores_add_up(opened).passed


def test_only_the_counted_attempt_and_the_latest_verdict(opened: Lake) -> None:
    state(opened, "r", "openai:m", "endpoint", 1)
    fill(opened, {"r/a/0": 0.0, "r/b/0": 0.0, "r/c/0": 0.0})
    retried = [attempt("r/a/0", counted=False), attempt("r/a/0", 1), attempt("r/b/0"), attempt("r/c/0")]
    put(opened, "attempts", retried)
    old = verdict("r/b/0", 0.9, is_latest=False, verdict_id="older")
    put(
        opened,
        "verdicts",
        [verdict("r/a/0", 0.3), verdict("r/a/0", 0.8, 1), old, verdict("r/b/0", 0.4), verdict("r/c/0", 0.0)],
    )
    rows = scores_of(opened)
    assert rows[("task", "a")]["mean"] == 0.8 and rows[("task", "b")]["mean"] == 0.4
    put(opened, "verdicts", [verdict("r/a/0", 1.0, 1), verdict("r/b/0", 1.0), verdict("r/c/0", 1.0)])
    assert scores_of(opened)[("suite", "demo")]["mean"] == 1.0  # a repaired verifier is followed


def test_an_unfinished_run_has_no_scores(opened: Lake) -> None:
    state(opened, "r", "openai:m", "endpoint", 1, finished=False)
    fill(opened, {"r/a/0": 1.0})
    assert scores_of(opened) == {}


def test_teachers_are_labelled(opened: Lake) -> None:
    state(opened, "s", "scripted:strong@1", "scripted", 1)
    state(opened, "m", "checkpoint:abc", "checkpoint", 1)
    fill(opened, {f"{run}/{task}/0": 1.0 for run in "sm" for task in CATEGORIES})
    opened.build(PROJECTION)
    labels = {row["policy_kind"]: row["label"] for row in opened.rows("bench_scores")}
    assert labels == {"scripted": LABELS["scripted"], "checkpoint": LABELS["checkpoint"]}
    assert "says nothing about a model" in labels["scripted"]


def test_the_order_of_events_does_not_matter(tmp_path: Path) -> None:
    lakes = []
    for order in (("x", "y"), ("y", "x")):
        one = open_lake(tmp_path / order[0])
        for name in order:
            state(one, name, f"openai:{name}", "endpoint", 1)
        fill(one, {f"{name}/{task}/0": 0.1 * i for name in order for i, task in enumerate(CATEGORIES)})
        lakes.append(one.build(PROJECTION).digests)
    assert lakes[0] == lakes[1]


def _completion(*calls: Json, text: str = "") -> str:
    return canonical({"role": "assistant", "content": text or None, "tool_calls": list(calls)})


def test_valid_call_rate_from_what_the_proxy_saw(opened: Lake) -> None:
    state(opened, "r", "checkpoint:abc", "checkpoint", 1)
    fill(opened, {f"r/{task}/0": 0.0 for task in CATEGORIES})
    put(
        opened,
        "trajectories",
        [
            {"trajectory_id": f"t-{task}", "attempt_id": f"r/{task}/0#0", "branch": branch, "tools": canonical(TOOLS)}
            for task, branch in (("a", 0), ("b", 0), ("c", 1))
        ],
    )
    good, no_tool = call("read", "c1", path="x"), call("fly", "c2", path="x")
    samples = [
        ("t-a", 0, "main", _completion(good, no_tool)),
        ("t-a", 1, "retry", _completion(good)),
        ("t-a", 2, "compaction", _completion(no_tool)),
        ("t-b", 0, "main", _completion(text="I try <tool_call>{oops")),
        ("t-b", 1, "main", None),
        ("t-c", 0, "main", _completion(no_tool)),
    ]
    put(
        opened,
        "samples",
        [{"trajectory_id": t, "call": n, "kind": kind, "completion": text} for t, n, kind, text in samples],
    )
    rows = scores_of(opened)
    assert rows[("suite", "demo")]["valid_call_rate"] == pytest.approx(2 / 4)
    assert rows[("task", "a")]["valid_call_rate"] == pytest.approx(2 / 3)
    assert rows[("task", "b")]["valid_call_rate"] == 0.0
    assert rows[("task", "c")]["valid_call_rate"] is None


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (call("write", "c", path="p", content=""), (1, 1)),
        (call("write", "c", path="p"), (1, 0)),
        ({"function": {"name": "read", "arguments": '{"path": '}}, (1, 0)),
        ({"function": {"name": "read", "arguments": "[1]"}}, (1, 0)),
        ({"function": {"name": "read", "arguments": {"path": "p"}}}, (1, 1)),
        ({"function": {"name": None, "arguments": "{}"}}, (1, 0)),
        ({}, (1, 0)),
    ],
)
def test_what_a_well_formed_call_is(made: Json, wanted: tuple[int, int]) -> None:
    assert count_calls({"tool_calls": [made]}, TOOLS) == wanted


def test_text_parts_and_nothing() -> None:
    parts = [{"type": "text", "text": "<tool_call>"}, {"type": "image_url"}]
    assert count_calls({"content": parts}, []) == (1, 0)
    assert count_calls({"content": "{}</tool_call> and <tool_call>{}</tool_call>"}, []) == (2, 0)
    assert count_calls({"content": None, "tool_calls": None}, TOOLS) == (0, 0)


def test_suites_are_data(opened: Lake) -> None:
    fill(opened, {})
    with pytest.raises(StageError, match="suite 'demo' has no accepted tasks; suites with tasks: none"):
        load_suite(opened, "demo")
    put(opened, "task_status", [_status("a", "bench:demo"), _status("b", "train"), _status("c", "bench:other")])
    assert load_suite(opened, "demo").task_versions == [["a", "a1"]]
    with pytest.raises(StageError, match="suites with tasks: demo, other"):
        load_suite(opened, "none")
    before = load_suite(opened, "demo").version
    put(opened, "task_status", [_status("a", "bench:demo"), _status("b", "bench:demo")])
    assert load_suite(opened, "demo").version != before


def _status(task: str, split: str | None) -> dict[str, Json]:
    return {"task_id": task, "task_version": f"{task}1", "status": "accepted", "reasons": [], "split": split}


def test_comparison_of_two_runs(opened: Lake) -> None:
    one = state(opened, "x", "checkpoint:base", "checkpoint", 2)
    two = state(opened, "y", "checkpoint:sft", "checkpoint", 2)
    three = state(opened, "s", "scripted:strong@1", "scripted", 2)
    other = state(opened, "z", "openai:m", "endpoint", 2, version="v2")
    open_run = state(opened, "w", "openai:m", "endpoint", 2, finished=False)
    fill(
        opened,
        {f"x/{t}/{r}": 0.0 for t in "abc" for r in range(2)}
        | {"y/a/0": 1.0, "y/a/1": 1.0, "y/b/0": 0.4, "y/b/1": None, "y/c/0": 0.0, "y/c/1": 0.0},
    )
    found = compare(opened, one[:8], two)
    assert found.figures.gained == ("a",) and found.figures.lost == () and found.nulls == (0, 1)
    assert found.figures.difference.mean == pytest.approx(1.4 / 3)
    for wrong, told in (
        (three, "a scripted teacher is not compared with a model"),
        (other, "only runs of the same tasks"),
        (open_run, "0 finished bench runs begin with"),
        ("", "0 finished bench runs"),
    ):
        with pytest.raises(UsageError, match=told):
            compare(opened, one, wrong)


def test_the_checks_can_fail(opened: Lake) -> None:
    state(opened, "r", "openai:m", "endpoint", 1)
    fill(opened, {"r/a/0": 1.0, "r/b/0": 0.5, "r/c/0": 0.0})
    scores_of(opened)
    good = opened.rows("bench_scores")

    def broken(scope: str, **change: Json) -> str:
        put(opened, "bench_scores", [row | change if row["scope"] == scope else row for row in good])
        outcome = scores_add_up(opened)
        assert not outcome.passed
        return outcome.detail

    assert "is not the mean of its tasks" in broken("suite", mean=0.9, low=0.0, high=1.0)
    assert "n of tasks or categories do not add up" in broken("suite", n=9)
    assert "n + null is not k" in broken("task", k=4)
    assert "outside its interval" in broken("suite", low=0.99, high=1.0)
    put(opened, "bench_scores", [row for row in good if row["scope"] != "suite"])
    assert "0 suite rows" in scores_add_up(opened).detail


def test_training_on_the_test_is_found(opened: Lake) -> None:
    fill(opened, {})
    put(opened, "task_status", [_status("a", "bench:demo"), _status("b", "train")])
    example = {"example_id": "e", "task_id": "b", "task_version": "b1", "messages": "[]", "tools": "[]"}
    put(opened, "sft_examples", [example])
    assert no_training_on_the_test(opened).passed
    put(opened, "sft_examples", [{**example, "task_id": "a", "task_version": "a1"}])
    assert not no_training_on_the_test(opened).passed
    put(opened, "sft_examples", [example])
    put(opened, "tasks", [_task("a"), {**_task("b"), "instruction": "do a"}])
    assert not no_training_on_the_test(opened).passed
