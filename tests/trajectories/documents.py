"""Documents of other formats, made by the test that reads them."""

from __future__ import annotations

import json
from typing import Any

from assets.logs.decode import head
from assets.trajectories.clean import CleanSession, SourceRef
from assets.trajectories.entries import Row
from assets.trajectories.formats import clean_source
from lake.ids import record_key

BASH = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}


def atif(version: str = "1.7", **more: Any) -> dict[str, Any]:
    """A run of two turns; what a version adds to the format is in it from that version on."""
    minor = int(version.split(".")[1])
    turn: dict[str, Any] = {
        "step_id": 3,
        "timestamp": "2026-02-01T10:00:02Z",
        "source": "agent",
        "message": "I look.",
        "reasoning_content": "The folder first.",
        "tool_calls": [{"tool_call_id": "call_1", "function_name": "bash", "arguments": {"command": "ls /app"}}],
        "observation": {"results": [{"source_call_id": "call_1", "content": "a.txt\nb.txt"}]},
        "metrics": {"prompt_tokens": 120, "completion_tokens": 9, "cached_tokens": 100, "cost_usd": 0.01},
    }
    user: dict[str, Any] = {"step_id": 2, "source": "user", "message": "Which files are there?"}
    if minor >= 3:
        turn["metrics"]["completion_token_ids"] = [1, 2, 3]
    if minor >= 4:
        turn["metrics"]["prompt_token_ids"] = [4, 5]
    if minor >= 6:
        user["message"] = [
            {"type": "text", "text": "Which files are there?"},
            {"type": "image", "source": {"media_type": "image/png", "path": "images/1.png"}},
        ]
    if minor >= 8:
        user["message"].append({"type": "audio", "source": {"media_type": "audio/wav", "path": "say.wav"}})
    document: dict[str, Any] = {
        "schema_version": f"ATIF-v{version}",
        "session_id": "run-1",
        "agent": {"name": "terminus", "version": "2.0", "model_name": "some-model"},
        "steps": [
            {"step_id": 1, "source": "system", "message": "You are an agent."},
            user,
            turn,
            {"step_id": 4, "timestamp": "2026-02-01T10:00:05Z", "source": "agent", "message": "a.txt and b.txt."},
        ],
        "final_metrics": {"total_steps": 4},
    }
    if minor >= 5:
        document["agent"]["tool_definitions"] = [BASH]
    if minor >= 7:
        document["trajectory_id"] = "trajectory-1"
    return {**document, **more}


def chat(*said: str, **more: Any) -> dict[str, Any]:
    """A row of chat messages: a system prompt, then user and assistant in turn, the first answer calling a tool."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are an agent."}]
    for number, text in enumerate(said):
        if number == 1:
            call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "notes.md"}'}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": "c1", "content": "three points"})
        messages.append({"role": "assistant" if number % 2 else "user", "content": text})
    return {"messages": messages, **more}


def clean(kind: str, *documents: dict[str, Any] | bytes) -> CleanSession:
    """Cleaned records of a source with these documents, one a record; each must have a fate."""
    rows: list[Row] = []
    position = 0
    for document in documents:
        raw = document if isinstance(document, bytes) else json.dumps(document).encode()
        rows.append(Row(record_key("d", 0, position), position, raw, head(raw, first=position == 0)[1]))
        position += len(raw) + 1
    session = clean_source(SourceRef("d" * 64, 0, kind, None), rows)
    assert sum(session.ledger.values()) == len(rows)
    assert {finding.position for finding in session.findings.found.values()} <= {row.position for row in rows}
    return session
