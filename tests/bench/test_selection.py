"""The paper's rule for choosing bench tasks: what it keeps, what it leaves out, and that a suite never changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.bench import Bounds, load_suite, select
from assets.bench.compare import compare
from assets.bench.projection import PROJECTION
from lake import Lake
from lake import open as open_lake
from lake.errors import StageError, UsageError
from lake.ids import digest
from lake.reviews import record_review
from tests.bench.test_scores import attempt, fill, state, verdict
from tests.sft.rows import put

TASKS = "abc"


@pytest.fixture
def opened(tmp_path: Path) -> Lake:
    return suite_lake(tmp_path / "lake")


def suite_lake(root: Path) -> Lake:
    """A suite of three tasks, twice run by a strong and a small model, and by two teachers."""
    lake = open_lake(root)
    rollouts: dict[str, float | None] = {}
    version = digest([[task, f"{task}1"] for task in TASKS], length=16)
    means = {"big": (1.0, 0.5, 0.1), "small": (0.9, 0.3, 0.0), "strong": (1.0, 1.0, 1.0), "weak": (0.0, 0.7, 1.0)}
    for name, scores in means.items():
        scripted = name in ("strong", "weak")
        policy = f"scripted:{name}@1" if scripted else f"openai:{name}"
        state(lake, name, policy, "scripted" if scripted else "endpoint", 2, version=version)
        rollouts |= {
            f"{name}/{task}/{repeat}": score for task, score in zip(TASKS, scores, strict=True) for repeat in range(2)
        }
    fill(lake, rollouts)
    rows = [
        {"task_id": t, "task_version": f"{t}1", "status": "accepted", "reasons": [], "split": "bench:demo"}
        for t in TASKS
    ]
    put(lake, "task_status", rows)
    lake.build(PROJECTION)
    return lake


def choose(lake: Lake, name: str, strong: str, small: str, runs: int = 2) -> dict[str, str]:
    found = select(lake, name, digest(strong), digest(small), bounds=Bounds(runs=runs), actor="tests")
    return {candidate.task_id: candidate.reason for candidate in found.tasks}


def test_challenging_and_telling_apart(opened: Lake) -> None:
    assert choose(opened, "hard", "big", "small") == {
        "a": "the small agent's mean is above 0.6",
        "b": "",
        "c": "the strong agent's mean is below 0.2",
    }
    suite = load_suite(opened, "hard")
    assert suite.task_versions == [["b", "b1"]]
    assert load_suite(opened, "demo").task_versions == [[task, f"{task}1"] for task in TASKS], "the other one stays"


def test_teachers_are_labelled_and_never_mixed_with_models(opened: Lake) -> None:
    found = select(opened, "t", digest("strong"), digest("weak"), bounds=Bounds(runs=2), actor="tests")
    assert "scripted teachers" in found.label and "nothing of how hard" in found.label
    assert [c.task_id for c in found.tasks if c.kept] == ["a"]
    assert found.tasks[1].reason == "the small agent's mean is above 0.6"
    with pytest.raises(UsageError, match="a scripted teacher is not compared with a model"):
        choose(opened, "u", "strong", "small")


def test_a_suite_is_stated_once_and_never_changes(opened: Lake) -> None:
    for new in (True, False):
        found = select(opened, "hard", digest("big"), digest("small"), bounds=Bounds(runs=2), actor="tests")
        assert found.new is new
    assert opened.event_counts(["suite.selected"]) == {"suite.selected": 1}
    with pytest.raises(UsageError, match="there is a suite 'hard' with other tasks"):
        choose(opened, "hard", "strong", "weak")
    with pytest.raises(UsageError, match="there is a suite 'demo'"):
        choose(opened, "demo", "big", "small")


def test_too_few_attempts_and_nothing_left(opened: Lake) -> None:
    with pytest.raises(StageError, match="has 2 attempts a task, the rule looks at 4"):
        choose(opened, "x", "big", "small", runs=4)
    with pytest.raises(StageError, match="none of 3 tasks of suite demo passes the rule"):
        choose(opened, "x", "small", "big")
    rows = [*opened.rows("verdicts"), verdict("big/b/9", None)]
    put(opened, "verdicts", [{**row, "score": None} if row["attempt_id"] == "big/b/0#0" else row for row in rows])
    put(opened, "attempts", [*opened.rows("attempts"), attempt("big/b/9")])
    with pytest.raises(StageError):
        choose(opened, "x", "big", "small")


def test_trained_on_and_turned_down_are_left_out(opened: Lake) -> None:
    def say(decision: str, reviewer: str) -> None:
        record_review(
            opened, subject_kind="task", subject_id="b@b1", decision=decision, reviewer=reviewer, note="",
            actor="tests",
        )  # fmt: skip

    say("reject", "model:judge")
    assert choose(opened, "one", "big", "small")["b"] == "", "a model proposes, a person decides"
    say("revise", "person:ada")
    with pytest.raises(StageError, match="none of 3"):
        choose(opened, "two", "big", "small")
    say("accept", "person:ada")
    assert choose(opened, "three", "big", "small")["b"] == ""
    example = {"example_id": "e", "task_id": "b", "task_version": "b0", "messages": "[]", "tools": "[]"}
    put(opened, "sft_examples", [example])
    with pytest.raises(StageError, match="none of 3"):
        choose(opened, "four", "big", "small")


def test_comparisons_are_rows_and_the_same_as_the_command_gives(opened: Lake) -> None:
    rows = {(row["first_policy"], row["second_policy"]): row for row in opened.rows("bench_comparisons")}
    assert len(rows) == 2, "models among models, teachers among teachers"
    ((first, second),) = [pair for pair in rows if pair[0].startswith("openai:")]
    row = rows[first, second]
    found = compare(opened, row["first_run_id"], row["second_run_id"]).figures
    assert (row["difference"], row["low"], row["high"]) == (
        found.difference.mean, found.difference.low, found.difference.high,
    )  # fmt: skip
    assert (tuple(row["gained"]), tuple(row["lost"])) == (found.gained, found.lost)
    assert not row["scripted"] and row["score_column"] == "score"
