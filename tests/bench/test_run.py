"""Bench runs on real parts: OpenClaw, the cage, the proxy, the policy server, verifiers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

import lake
from assets import audits, bench, rollouts, tasks, workspaces
from assets.checkpoints import checkpoint_folder
from assets.profile import BenchSection, PersonasSection, Profile, RolloutsSection, TasksSection
from assets.stage import Context, Stage, StageRun, run_stage
from lake import Lake
from lake.errors import SetupError
from lake.ids import Json
from tests.sft.rows import put
from training.chat import Conversation
from training.model import ModelConfig, save_init
from training.sft import SftConfig, train
from training.tokenizer import tokenizer_sha256, train_tokenizer

pytestmark = [pytest.mark.openclaw, pytest.mark.slow]

CHECKPOINT = "c0ffee" + "0" * 14


def profile(*policies: str) -> Profile:
    return Profile(
        personas=PersonasSection(count=2),
        tasks=TasksSection(families=("expense_claims",), seeds_per_family=4),
        rollouts=RolloutsSection(time_limit_s=180.0, concurrency=1),
        bench=BenchSection(policies=policies, resamples=200, turn_limit=3),
    )


def go(opened: Lake, *policies: str) -> StageRun:
    return run_stage(bench.STAGE, Context(opened, profile(*policies)))


def suite_rows(opened: Lake) -> dict[str, dict[str, Json]]:
    return {row["policy_kind"]: row for row in opened.rows("bench_scores") if row["scope"] == "suite"}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with one family, audited, and the strong teacher's run of the bench task."""
    one = lake.open(tmp_path_factory.mktemp("bench") / "lake")
    context = Context(one, profile())
    for stage in (tasks.STAGE, workspaces.STAGE, audits.STAGE, rollouts_without_collecting()):
        run_stage(stage, context)
    assert go(one, "scripted:strong").effect == {"finished": 1}
    return one


def rollouts_without_collecting() -> Stage:
    return replace(rollouts.STAGE, effect=None)


def test_the_teacher_s_run(opened: Lake) -> None:
    row = suite_rows(opened)["scripted"]
    assert (row["tasks"], row["n"], row["n_null"], row["mean"]) == (1, 1, 0, 1.0)
    assert row["valid_call_rate"] == 1.0 and row["low"] is None
    assert {a["purpose"] for a in opened.rows("attempts")} == {"bench"}
    assert {r["reason"] for r in opened.rows("sft_decisions")} == {"not_collected"}
    assert all(check.run(opened).passed for check in bench.STAGE.checks)


def test_again_there_is_nothing_to_do(opened: Lake) -> None:
    again = go(opened, "scripted:strong")
    assert again.effect == {"found": 1} and again.built.skipped


def test_one_that_fails_does_not_keep_the_others(opened: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(SetupError, match="OPENAI_BASE_URL"):
        go(opened, "openai:nobody", "scripted:weak")
    opened.build(bench.STAGE.projection)
    kinds = {row["policy"] for row in opened.rows("bench_scores")}
    assert kinds == {"scripted:strong@1", "scripted:weak@1"}
    unfinished = opened.event_counts(["bench.started", "bench.finished"])
    assert unfinished == {"bench.started": 3, "bench.finished": 2}


def test_a_model_acts_through_the_agent(opened: Lake) -> None:
    """A tiny model that has learned the beginning of the teacher's run by heart makes real tool calls in OpenClaw."""
    (run,) = (t for t in opened.rows("trajectories") if t["policy"] == "scripted:strong@1")
    first = next(s for s in opened.rows("samples") if s["trajectory_id"] == run["trajectory_id"] and s["call"] == 0)
    served, answer = json.loads(first["prompt_messages"]), {**json.loads(first["completion"]), "content": ""}
    learn(opened, [shifted(Conversation([*served, answer], json.loads(run["tools"])), by) for by in range(8)])
    assert go(opened, "checkpoint:latest").effect == {"finished": 1}
    row = suite_rows(opened)["checkpoint"]
    assert row["policy"] == f"checkpoint:{CHECKPOINT}" and row["label"] == "model trained here"
    assert (row["n"], row["n_null"]) == (1, 0)
    assert 0.0 <= row["mean"] < 1.0
    assert row["valid_call_rate"] is not None and row["valid_call_rate"] > 0  # what comes after, nobody taught it
    (attempt,) = (a for a in opened.rows("attempts") if a["policy_kind"] == "checkpoint")
    assert attempt["ending_kind"] == "agent" and attempt["model_calls"] <= 3
    (acted,) = (t for t in opened.rows("trajectories") if t["attempt_id"] == attempt["attempt_id"])
    calls = [c for c in opened.rows("tool_calls") if c["trajectory_id"] == acted["trajectory_id"]]
    assert calls and calls[0]["tool"] == "exec" and calls[0]["is_error"] is False


def shifted(lesson: Conversation, by: int) -> Conversation:
    """The lesson a little longer, at another time and in another session: nothing of that may be what is learned."""
    head, user, *rest = (dict(message) for message in lesson.messages)
    content = re.sub(r"\b\d\d:\d\d UTC", f"{(9 + by * 7) % 24:02d}:{(11 + by * 17) % 60:02d} UTC", str(user["content"]))
    content = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", lambda _: str(UUID(int=by * 7**40)), content)
    return Conversation([head, {**user, "content": content + " 7a" * (by % 4)}, *rest], lesson.tools)


def learn(opened: Lake, lessons: list[Conversation]) -> None:
    """Train a checkpoint on a short conversation and state it as the stage would."""
    start: Path = opened.root / "artefacts" / "start"
    save_init(start, train_tokenizer(lessons[:1], vocab_size=3000), ModelConfig())
    folder = checkpoint_folder(opened, CHECKPOINT)
    result = train(start, lessons, folder, SftConfig(steps=200, learning_rate=4e-3))
    assert result.loss_last < 0.1
    row = {
        "checkpoint_id": CHECKPOINT,
        "method": "sft",
        "architecture": result.architecture,
        "tokenizer_sha256": tokenizer_sha256(folder),
        "config": "{}",
    }
    put(opened, "checkpoints", [row])
