"""inspect_scout's transcript database: a folder of Parquet files, messages as inspect_ai's ChatMessage JSON.

Each metadata column has one type over the whole set. `score` is JSON text, as scout wants it, and the same as a number
is `score_total`. Does not belong here: events and timelines, which the tables do not have in scout's form.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from assets.trajectories.exports.item import About, Item, Row, Tally, read_json, to_json, to_text
from assets.trajectories.exports.shards import Shards
from lake.ids import Json

_TEXT: Final = pa.large_string()
SCHEMA: Final = pa.schema(
    [
        pa.field("transcript_id", _TEXT, nullable=False),
        ("source_type", _TEXT),
        ("source_id", _TEXT),
        ("date", _TEXT),
        ("task_set", _TEXT),
        ("task_id", _TEXT),
        ("task_repeat", pa.int64()),
        ("agent", _TEXT),
        ("model", _TEXT),
        ("score", _TEXT),
        ("success", pa.bool_()),
        ("message_count", pa.int64()),
        ("total_time", pa.float64()),
        ("total_tokens", pa.int64()),
        ("error", _TEXT),
        ("limit", _TEXT),
        ("trust_content", pa.bool_()),
        ("messages", _TEXT),
        # Metadata: whatever is not one of scout's own names.
        ("session_id", _TEXT),
        ("parent_session_id", _TEXT),
        ("attempt_id", _TEXT),
        ("task_version", _TEXT),
        ("task_split", _TEXT),
        ("policy", _TEXT),
        ("class", _TEXT),
        ("branch", pa.int64()),
        ("counted", pa.bool_()),
        ("verdict_status", _TEXT),
        ("score_code", pa.float64()),
        ("score_total", pa.float64()),
        ("turns", pa.int64()),
        ("tool_calls", pa.int64()),
        ("tool_errors", pa.int64()),
        ("tools", _TEXT),
        ("rules", _TEXT),
    ]
)
_GROUP_ROWS: Final = 25
_FILE_BYTES: Final = 256 * 2**20
"""Text of a file before compression, which leaves some 75 to 100 MB of it."""
_SAME: Final = (
    "source_id", "task_id", "task_version", "task_split", "session_id", "attempt_id", "policy", "class", "branch",
    "counted", "verdict_status", "score_code", "turns", "tool_calls", "tool_errors",
)  # fmt: skip
"""Columns that are those of the tables."""
_WHOLE: Final = 1 - 1e-9


def write(items: Iterable[Item], to: Path, about: About, tally: Tally) -> None:
    """See `Writer`."""
    tally.expect("usage_records")
    to.mkdir()
    with Shards(to, "transcripts_", SCHEMA, group_rows=_GROUP_ROWS, file_bytes=_FILE_BYTES) as shards:
        for item in items:
            tally.take(item)
            tally.not_held["usage_records"] += sum(step["usage"] is not None for step in item.spoken)
            row = row_of(item, about)
            shards.add(row, len(row["messages"]) + len(row["tools"] or ""))
        if not tally.exported:
            shards.write_empty()


def row_of(item: Item, about: About) -> dict[str, Any]:
    """A trajectory as a transcript."""
    row = item.row
    tokens = [row["input_tokens"], row["output_tokens"]]
    messages = _messages(item)
    ending = str(row["ending"] or "")
    found: dict[str, Any] = {name: row[name] for name in _SAME}
    return found | {
        "transcript_id": item.trajectory_id,
        "source_type": "clawgym",
        "date": None if row["started_at"] is None else _time(row["started_at"]),
        "task_set": row["family"],
        "task_repeat": row["repeat"],
        "agent": item.agent_label,
        "model": row["model"],
        "score": None if row["score"] is None else to_json(row["score"]),
        "score_total": row["score"],
        "success": None if row["score"] is None else row["score"] >= _WHOLE,
        "message_count": len(messages),
        "total_time": _seconds(row["started_at"], row["ended_at"]),
        "total_tokens": None if None in tokens else sum(tokens),
        "error": to_text(row["ending_detail"] or ending) if row["ending_kind"] == "infrastructure" else None,
        "limit": ending.removesuffix("_limit") if ending.endswith("_limit") else None,
        "trust_content": False,
        "messages": to_json(messages),
        "parent_session_id": about.parents.get(item.trajectory_id) or row["parent_session"],
        "tools": None if row["tools"] is None else to_json(item.tools),
        "rules": to_json(list(row["rules"])),
    }


def _messages(item: Item) -> list[dict[str, Json]]:
    """Steps as inspect_ai's messages, each with the id of its place."""
    made: list[dict[str, Json]] = []
    if item.system is not None:
        made.append({"id": f"{item.trajectory_id}/system", "role": "system", "content": item.system})
    for step in item.spoken:
        message: dict[str, Json] = {"id": f"{item.trajectory_id}/{step['step']}", "role": step["role"]}
        message["content"] = step["text"]
        if step["role"] == "user":
            message["source"] = "input"
        elif step["role"] == "assistant":
            message |= _answer(step, item.calls_of.get(step["step"], []))
        elif step["role"] == "tool":
            message |= _result(step, item.answered.get(step["step"]))
        metadata = {"record_key": step["record_key"], "timestamp": None if step["ts"] is None else _time(step["ts"])}
        if step["copied_context"]:
            metadata["copied_context"] = True
        message["metadata"] = {name: value for name, value in metadata.items() if value is not None}
        made.append(message)
    return made


def _answer(step: Row, calls: list[Row]) -> dict[str, Json]:
    found: dict[str, Json] = {"source": "generate"}
    if step["thinking"]:
        found["content"] = [
            {"type": "reasoning", "reasoning": step["thinking"]},
            *([{"type": "text", "text": step["text"]}] if step["text"] else []),
        ]
    if calls:
        found["tool_calls"] = [
            {
                "id": call["tool_call_id"],
                "function": call["tool"],
                "arguments": read_json(call["arguments"]),
                "type": "function",
            }
            for call in calls
        ]
    if step["model"] is not None:
        found["model"] = step["model"]
    return found


def _result(step: Row, call: Row | None) -> dict[str, Json]:
    found: dict[str, Json] = {"tool_call_id": step["tool_call_id"]}
    if call is not None:
        found["function"] = call["tool"]
    if step["is_error"]:
        said = "the tool" if call is None or call["error_source"] is None else call["error_source"]
        found["error"] = {"type": "unknown", "message": f"error stated by {said}"}
    return found


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else (end - start).total_seconds()


def _time(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")
