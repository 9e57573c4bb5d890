"""Every version of the session format says the same: generated ones of all, recorded ones of older OpenClaws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assets.logs.readers.streams import FileSource
from assets.trajectories.clean import CleanSession
from tests.trajectories.attempts import SAMPLES
from tests.trajectories.sessions import clean_lines, found, said

OLD = SAMPLES / "old"


def session(version: int | None, *, header: bool = True) -> CleanSession:
    """Two turns, a note of a hook, a compaction that keeps the last answer, and a turn after it."""
    linear = version is None or version < 2
    hook = "hookMessage" if version is None or version < 3 else "custom"
    call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "read a"}]},
        {"role": "assistant", "content": [call], "stopReason": "toolUse"},
        {"role": "toolResult", "toolCallId": "c", "toolName": "read", "content": "text of a"},
        {"role": hook, "customType": "hook", "content": "note of a hook"},
        {"role": "assistant", "content": [{"type": "text", "text": "it says a"}], "stopReason": "stop"},
    ]
    records: list[dict[str, Any]] = [{"type": "message", "message": message} for message in messages]
    kept: dict[str, Any] = {"firstKeptEntryIndex": 5 if header else 4} if linear else {"firstKeptEntryId": "e4"}
    records.append({"type": "compaction", "summary": "a was read", "tokensBefore": 9, **kept})
    for role, text in (("user", "and now?"), ("assistant", "done")):
        records.append({"type": "message", "message": {"role": role, "content": text, "stopReason": "stop"}})
    for number, record in enumerate(records):
        record["timestamp"] = f"2026-03-01T10:{number:02d}:00.000Z"
        if not linear:
            record |= {"id": f"e{number}", "parentId": f"e{number - 1}" if number else None}
    if header:
        top: dict[str, Any] = {"type": "session", "id": "s", "timestamp": "2026-03-01T09:59:00.000Z", "cwd": "/w"}
        records.insert(0, top if version is None else {**top, "version": version})
    return clean_lines([json.dumps(record).encode() for record in records])


@pytest.mark.parametrize("version", [None, 1, 2, 3, 4, 5, 99])
@pytest.mark.parametrize("header", [True, False])
def test_all_versions_say_the_same(version: int | None, header: bool) -> None:
    cleaned, reference = session(version, header=header), session(3)
    assert len(cleaned.branches) == 2
    for branch in range(2):
        assert said(cleaned, branch) == said(reference, branch)
        assert [s.context for s in cleaned.branches[branch].steps] == [
            s.context for s in reference.branches[branch].steps
        ]
    assert any("a was read" in line for line in said(cleaned)) and "assistant: done" in said(cleaned)
    rules = {rule for rule, _ in found(cleaned)} - {rule for rule, _ in found(reference)}
    unknown = {"unknown_session_version"} if header and version in (5, 99) else set()
    assert rules == unknown | (set() if header else {"no_header"})


RECORDED: dict[str, tuple[str, int, int, int]] = {
    "2026.1.30": ("normal", 5, 4, 1),
    "2026.3.13": ("normal", 5, 4, 1),
    "2026.3.13-badjson": ("normal", 2, 1, 0),
    "2026.3.13-err400": ("failed", 0, 0, 0),
    "2026.3.13-overflow": ("failed", 0, 0, 0),
    "2026.3.13-toolerr": ("normal", 6, 5, 4),
    "2026.5.7": ("normal", 5, 4, 0),
    "2026.7.1": ("normal", 5, 4, 0),
    "2026.7.1-badjson": ("normal", 2, 1, 0),
    "2026.7.1-toolerr": ("aborted", 4, 4, 3),
    "2026.8.2": ("normal", 5, 4, 0),
}
"""Class, turns, calls, failed calls of runs whose script is known: the same task, the same errors."""


def recorded(name: str) -> Path:
    (path,) = (OLD / name).glob("*.jsonl")
    return path


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_sessions_of_older_versions_are_read_right(name: str) -> None:
    lines = [line.raw for line in FileSource("", str(recorded(name)), None, "").lines()]
    (branch,) = clean_lines(lines).branches
    answers = [step for step in branch.steps if step.role == "assistant"]
    calls = [call for step in answers for call in step.calls]
    failed = sum(call.result is not None and bool(call.result.is_error) for call in calls)
    assert (branch.class_, len(answers), len(calls), failed) == RECORDED[name]


def test_all_recorded_sessions_are_tested() -> None:
    assert set(RECORDED) == {path.name for path in OLD.iterdir()}
