"""The filter: one decision a trajectory, with the first rule it breaks; and the policy that reaches it by the log."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assets.profile import Profile, SftSection
from assets.sft import STAGE, Policy, conversation_of, read_examples
from assets.sft.filter import REASONS, content_sha256
from assets.sft.policy import EVENT, latest
from assets.stage import Context, run_stage
from lake import Event, Lake
from lake.ids import Json
from tests.sft.rows import WHEN, Run, fill, put
from tests.training.conversations import TOOLS, expense_report

CASES = {
    "kept": Run(1),
    "foreign_log": Run(2, ours=False, verdict=False),
    "not_collected": Run(3, purpose="bench", split="bench:demo"),
    "not_counted": Run(4, counted=False),
    "side_branch": Run(5, branch=1),
    "not_train_split": Run(6, split="bench:demo"),
    "abnormal_class": Run(7, trajectory_class="aborted"),
    "no_tools": Run(8, tools=None),
    "no_verdict": Run(9, verdict=False),
    "not_scored": Run(10, score_code=None, status="verifier_error"),
    "below_threshold": Run(11, score_code=0.49),
    "duplicate": Run(12, content=1, split="validation"),
}


def run(opened: Lake, **section: Json) -> Lake:
    profile = Profile(sft=SftSection(**section))
    run_stage(STAGE, Context(opened, profile))
    return opened


def decisions(opened: Lake) -> dict[str, str]:
    return {row["trajectory_id"]: row["reason"] for row in opened.rows("sft_decisions")}


def test_every_reason_happens_and_only_one_each(tmp_path: Path) -> None:
    opened = run(fill(tmp_path / "lake", list(CASES.values())))
    assert set(CASES) == set(REASONS)
    assert decisions(opened) == {case.trajectory_id: reason for reason, case in CASES.items()}
    examples = opened.rows("sft_examples")
    assert [row["trajectory_id"] for row in examples] == [CASES["kept"].trajectory_id]
    assert all(check.run(opened).passed for check in STAGE.checks)


@pytest.mark.parametrize("split", [None, "test", "bench:demo", "bench:other"])
def test_held_out_and_rejected_tasks_stay_out(tmp_path: Path, split: str | None) -> None:
    opened = run(fill(tmp_path / "lake", [Run(1, split=split)]))
    assert decisions(opened) == {Run(1).trajectory_id: "not_train_split"}


def test_empty_tools_count_as_none(tmp_path: Path) -> None:
    opened = run(fill(tmp_path / "lake", [Run(1, tools="[]")]))
    assert decisions(opened) == {Run(1).trajectory_id: "no_tools"}


def test_only_the_latest_verdict_counts(tmp_path: Path) -> None:
    opened = fill(tmp_path / "lake", [Run(1, score_code=0.2)])
    old = {**opened.rows("verdicts")[0], "verdict_id": "older", "score_code": 1.0, "is_latest": False}
    put(opened, "verdicts", [*opened.rows("verdicts"), old])
    assert decisions(run(opened)) == {Run(1).trajectory_id: "below_threshold"}


def test_an_example_says_where_it_comes_from(tmp_path: Path) -> None:
    opened = run(fill(tmp_path / "lake", [Run(1, score_code=0.75), Run(2, split="validation")]))
    (row,) = read_examples(opened, "train")
    case = Run(1)
    assert (row["attempt_id"], row["trajectory_id"]) == (case.attempt_id, case.trajectory_id)
    assert (row["score_column"], row["score"], row["policy"]) == ("score_code", 0.75, "scripted:strong@1")
    assert row["task_id"] == case.task["task_id"] and row["task_version"] == case.task["task_version"]
    assert conversation_of(row).messages == expense_report(1).messages
    assert [t["function"]["name"] for t in conversation_of(row).tools] == ["read", "write", "edit", "exec"]
    assert [r["split"] for r in read_examples(opened, "validation")] == ["validation"]


def test_a_duplicate_goes_where_it_leaks_nothing(tmp_path: Path) -> None:
    """The same content in train and validation stays in train, whatever the order of ids."""
    for first, second in ((1, 2), (2, 1)):
        runs = [Run(first, content=1), Run(second, content=1, split="validation")]
        opened = run(fill(tmp_path / f"lake{first}", runs))
        assert [row["trajectory_id"] for row in opened.rows("sft_examples")] == [runs[0].trajectory_id]


def test_random_call_ids_do_not_hide_a_duplicate() -> None:
    messages = [dict(message) for message in expense_report(1).messages]
    text = json.dumps(messages)
    other = json.loads(text.replace("call10", "zz9").replace("call11", "k"))
    assert content_sha256(messages, TOOLS) == content_sha256(other, TOOLS)
    swapped = json.loads(text.replace('"tool_call_id": "call11"', '"tool_call_id": "call12"'))
    assert content_sha256(messages, TOOLS) != content_sha256(swapped, TOOLS)
    assert content_sha256(messages, TOOLS) != content_sha256(messages, TOOLS[:2])


def test_the_profile_reaches_the_projection_by_the_log(tmp_path: Path) -> None:
    opened = fill(tmp_path / "lake", [Run(1, score_code=0.6, score=0.3), Run(2, score_code=0.4, score=0.9)])
    kept = [[r["trajectory_id"] for r in run(opened).rows("sft_examples")]]
    kept.append([r["trajectory_id"] for r in run(opened, score_column="score").rows("sft_examples")])
    kept.append([r["trajectory_id"] for r in run(opened).rows("sft_examples")])
    assert kept == [[Run(1).trajectory_id], [Run(2).trajectory_id], [Run(1).trajectory_id]]
    stated = list(opened.events(EVENT))
    assert len(stated) == 3  # back to the first policy is a new fact, not a rewriting
    run(opened)
    assert len(list(opened.events(EVENT))) == 3
    again = opened.build(STAGE.projection)
    assert again.skipped


def test_another_filter_gives_other_examples(tmp_path: Path) -> None:
    opened = fill(tmp_path / "lake", [Run(1)])
    one = run(opened).rows("sft_examples")[0]["example_id"]
    two = run(opened, threshold=0.6).rows("sft_examples")[0]["example_id"]
    assert one != two


def _event(event_id: str, cause: str | None, threshold: float) -> Event:
    payload = {"score_column": "score", "threshold": threshold}
    return Event(event_id, "sft_policy", event_id, 0, EVENT, 1, WHEN, cause, "t", payload)


def test_the_end_of_the_longest_chain_holds() -> None:
    assert latest([]) == (None, Policy())
    chain = [_event("z", None, 0.1), _event("y", "z", 0.2), _event("a", "y", 0.3), _event("x", "z", 0.4)]
    for order in (chain, chain[::-1]):
        assert latest(order) == ("a", Policy("score", 0.3))
    racers = [_event("m", None, 0.1), _event("n", None, 0.2)]
    assert latest(racers)[0] == latest(racers[::-1])[0] == "n"
    long = [_event(f"e{i}", f"e{i - 1}" if i else None, i / 5000) for i in range(5000)]
    assert latest(long)[0] == "e4999"


def test_the_checks_can_fail(tmp_path: Path) -> None:
    opened = run(fill(tmp_path / "lake", [Run(1), Run(2)]))
    decided, learnable = (check.run for check in STAGE.checks)
    good = opened.rows("sft_examples")
    put(opened, "sft_examples", good[:1])
    assert not decided(opened).passed
    put(opened, "sft_examples", [good[0], {**good[1], "split": "bench:demo"}])
    assert "held out" in learnable(opened).detail
    put(opened, "sft_examples", [good[0], {**good[1], "score": 0.1}])
    assert "1 below the threshold" in learnable(opened).detail
    put(opened, "sft_examples", [good[0], {**good[1], "content_sha256": good[0]["content_sha256"]}])
    assert "1 repeated" in learnable(opened).detail
    put(opened, "sft_examples", good)
    put(opened, "attempts", [{**row, "counted": False} for row in opened.rows("attempts")])
    assert "2 of a wrong attempt" in learnable(opened).detail


def test_rebuilt_to_the_same_content(tmp_path: Path) -> None:
    runs = list(CASES.values())
    one = run(fill(tmp_path / "one", runs))
    two = run(fill(tmp_path / "two", [replace(r) for r in reversed(runs)]))
    assert one.build(STAGE.projection).digests == two.build(STAGE.projection).digests
