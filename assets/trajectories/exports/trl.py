"""TRL's conversational format: JSON lines with `messages`, `tools`, and where each came from.

Tool-call arguments are JSON text, or objects on request; tool schemas are a list. Text is masked, as in the tables.
What the format cannot hold is counted by `loss_report`. Does not belong here: which rows to train on (`sft`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from lake.ids import Json

Row = Mapping[str, Any]
"""A row of `trajectories`."""


def export_lines(trajectories: Iterable[Row], *, arguments: Literal["string", "object"] = "string") -> Iterator[str]:
    """One JSON line for each trajectory that has an answer in its messages, by trajectory id.

    Args:
        trajectories: rows of `trajectories`.
        arguments: tool-call arguments as JSON text or as an object.
    """
    for row in sorted(trajectories, key=lambda row: str(row["trajectory_id"])):
        messages: list[dict[str, Json]] = json.loads(row["messages"])
        if not has_answer(messages):
            continue
        if arguments == "object":
            _to_objects(messages)
        line = {
            "messages": messages,
            "tools": json.loads(row["tools"]) if row["tools"] is not None else [],
            "trajectory_id": row["trajectory_id"],
            "session_id": row["session_id"],
            "attempt_id": row["attempt_id"],
            "task_id": row["task_id"],
            "policy": row["policy"],
            "class": row["class"],
        }
        yield json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def has_answer(messages: list[dict[str, Json]]) -> bool:
    """Whether there is anything to learn from: an assistant message that is not only context (`weight` 0)."""
    return any(message["role"] == "assistant" and message.get("weight") != 0 for message in messages)


def _to_objects(messages: list[dict[str, Json]]) -> None:
    for message in messages:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])


def loss_report(trajectories: Iterable[Row], steps: Iterable[Row]) -> dict[str, int]:
    """What the export leaves out of the tables: counts by reason."""
    rows = list(trajectories)
    kept = {row["trajectory_id"] for row in rows if has_answer(json.loads(row["messages"]))}
    of_kept = [step for step in steps if step["trajectory_id"] in kept]
    return {
        "trajectories": len(rows),
        "exported": len(kept),
        "without_answer": len(rows) - len(kept),
        "steps_not_in_messages": sum(not step["in_messages"] for step in of_kept),
        "thinking_texts": sum(step["thinking"] is not None for step in of_kept),
        "times": sum(step["ts"] is not None for step in of_kept),
        "usage_records": sum(step["usage"] is not None for step in of_kept),
        "error_flags": sum(step["is_error"] is True for step in of_kept),
        "without_tools": sum(row["tools"] is None for row in rows if row["trajectory_id"] in kept),
    }
