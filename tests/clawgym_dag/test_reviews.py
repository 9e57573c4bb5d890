"""`reviews` through the command line, and the choice of bench tasks that follows from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lake
from assets.bench import load_suite
from assets.bench.suites import suite_name
from clawgym_dag.profiles import load_profile
from lake import Lake
from lake.ids import digest
from tests.bench.test_selection import suite_lake
from tests.clawgym_dag.conftest import Call
from tests.sql import minilake


@pytest.fixture
def suite(tmp_path: Path) -> Lake:
    return suite_lake(tmp_path / "suite")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = minilake.build(tmp_path / "lake", n=14).root
    monkeypatch.setenv("CLAWGYM_LAKE", str(root))
    return root


def test_a_review_is_recorded_and_listed(own: Path, call: Call) -> None:
    task = lake.open(own).rows("tasks")[0]
    said = call(
        "reviews", "add", task["task_id"], "--decision", "revise", "--note", "asks twice", "--reviewer", "eve", "--json"
    )
    assert said.code == 0, said.err
    wanted = f"{task['task_id']}@{task['task_version']}"
    assert json.loads(said.out)["subject_id"] == wanted
    rows = json.loads(call("reviews", "list", "--subject", wanted, "--json").out)
    assert (rows[0]["reviewer"], rows[0]["decision"], rows[0]["note"]) == ("person:eve", "revise", "asks twice")
    (event,) = [e for e in lake.open(own).events("review.recorded") if e.payload["reviewer"] == "person:eve"]
    assert event.actor == "cli.reviews"
    attempt = lake.open(own).rows("attempts")[0]["attempt_id"]
    assert call("reviews", "add", attempt, "--kind", "attempt", "--decision", "accept").code == 0
    kinds = {row["subject_kind"] for row in json.loads(call("reviews", "list", "--kind", "attempt", "--json").out)}
    assert kinds == {"attempt"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["zzz", "--decision", "accept"], "no task 'zzz'"),
        (["TASK@zzz", "--decision", "accept"], "has 0 versions that begin with 'zzz'"),
        (["TASK", "--decision", "maybe"], "maybe"),
        (["TASK", "--decision", "accept", "--reviewer", " "], "a review has an author"),
        (["TASK", "--decision", "accept", "--note", "x" * 4001], "shorten it"),
    ],
)
def test_what_cannot_be_reviewed_is_one_line(arguments: list[str], says: str, mini: Path, call: Call) -> None:
    task = str(lake.open(mini).rows("tasks")[0]["task_id"])
    called = call("reviews", "add", *[argument.replace("TASK", task) for argument in arguments])
    assert (called.code, called.err.count("\n")) == (2, 1)
    assert says in called.err


def test_tasks_are_chosen_for_a_suite_that_can_be_run(suite: Lake, call: Call) -> None:
    arguments = ("bench", "select", "hard", "--lake", str(suite.root), "--strong", digest("big"))
    called = call(*arguments, "--small", digest("small"), "--runs", "2", "--json")
    assert called.code == 0, called.err
    assert [task["task_id"] for task in json.loads(called.out)["tasks"] if task["kept"]] == ["b"]
    table = call(*arguments, "--small", digest("small"), "--runs", "2").out
    assert "suite hard: 1 of 3 tasks; selected by the paper's rule" in table
    profile = load_profile("demo", 'bench.suite = "hard"')
    assert load_suite(suite, suite_name(profile)).task_versions == [["b", "b1"]]
    few = call(*arguments, "--small", digest("small"))
    assert (few.code, few.err.count("\n")) == (7, 1)
    assert "the rule looks at 4" in few.err
