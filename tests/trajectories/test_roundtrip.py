"""What we write is read again: ATIF and chat messages from one lake, taken into another and into the same one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assets.logs import STAGE as LOGS
from assets.logs import ingest_paths
from assets.rollouts import STAGE as ROLLOUTS
from assets.stage import Context
from assets.trajectories import STAGE
from assets.trajectories.exports import export
from tests.trajectories.attempts import FIXTURES, context

SESSIONS = ("tool_error_channels", "baseline", "branch_user_edits", "unknown_record_type")


def build(made: Context) -> list[dict[str, Any]]:
    for stage in (ROLLOUTS, LOGS, STAGE):
        made.lake.build(stage.projection)
    for check in (*LOGS.checks, *STAGE.checks):
        outcome = check.run(made.lake)
        assert outcome.passed, (check.name, outcome.detail)
    return made.lake.rows("trajectories")


@pytest.fixture
def first(tmp_path: Path) -> Context:
    made = context(tmp_path / "first")
    ingest_paths(made, [FIXTURES / "handmade" / f"{name}.jsonl" for name in SESSIONS])
    build(made)
    return made


def messages(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    found = [json.loads(row["messages"]) for row in rows]
    return sorted((list(map(plain, said)) for said in found), key=json.dumps)


def plain(message: dict[str, Any]) -> dict[str, Any]:
    """Without the mark of context, which a copy has on every answer."""
    return {key: value for key, value in message.items() if key != "weight"}


@pytest.mark.parametrize("target", ["out.jsonl", "out"])
@pytest.mark.parametrize("version", ["1.7", "1.8"])
def test_atif_comes_back_as_it_was(first: Context, tmp_path: Path, target: str, version: str) -> None:
    export(first.lake, tmp_path / target, format="atif", atif_version=version)
    second = context(tmp_path / "second")
    ingest_paths(second, [tmp_path / target])
    before, after = first.lake.rows("trajectories"), build(second)
    assert messages(after) == messages(before)
    for column in ("turns", "tool_calls", "tool_errors", "input_tokens", "output_tokens", "class", "model"):
        assert sorted(str(row[column]) for row in after) == sorted(str(row[column]) for row in before), column


def test_chat_messages_come_back_as_they_were(first: Context, tmp_path: Path) -> None:
    export(first.lake, tmp_path / "out.jsonl", format="trl")
    second = context(tmp_path / "second")
    ingest_paths(second, [tmp_path / "out.jsonl"])
    rows = [{"messages": json.dumps(json.loads(line)["messages"])} for line in (tmp_path / "out.jsonl").open()]
    assert len(rows) >= 4 and messages(build(second)) == messages(rows)


def test_an_export_taken_into_its_own_lake_counts_nothing_twice(first: Context, tmp_path: Path) -> None:
    before = first.lake.rows("trajectories")
    export(first.lake, tmp_path / "out", format="atif")
    ingest_paths(first, [tmp_path / "out"])
    after = build(first)
    assert sum(row["turns"] for row in after) == sum(row["turns"] for row in before)
    assert sum(row["input_tokens"] or 0 for row in after) == sum(row["input_tokens"] or 0 for row in before)
    assert {row["class"] for row in after if row not in before} <= {"copy", "empty"}
