"""TRL's conversational format: JSON lines with `messages`, `tools`, and where each came from.

Tool-call arguments are JSON text, or objects on request; tool schemas are a list. Does not belong here: which rows to
train on (`sft`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from assets.trajectories.exports.item import About, Item, Tally, read_json, write_lines
from lake.ids import Json

NOT_HELD: Final = (
    "without_answer",
    "without_tools",
    "thinking_texts",
    "times",
    "usage_records",
    "error_flags",
)
"""What is counted for every form that is a list of chat messages."""


def write(items: Iterable[Item], to: Path, about: About, tally: Tally) -> None:
    """See `Writer`."""
    write_lines(_lines(items, about, tally), to)


def _lines(items: Iterable[Item], about: About, tally: Tally) -> Iterator[Json]:
    for item in trainable(items, tally):
        messages = item.messages
        if about.arguments == "object":
            messages = [_with_objects(message) for message in messages]
        yield {"messages": messages, "tools": item.tools, **origin(item)}


def trainable(items: Iterable[Item], tally: Tally) -> Iterator[Item]:
    """Items that have an answer, with what a list of chat messages cannot hold of them counted."""
    tally.expect(*NOT_HELD)
    for item in items:
        if not item.has_answer:
            tally.leave_out("without_answer")
            continue
        tally.take(item)
        tally.not_held["without_tools"] += item.row["tools"] is None
        tally.not_held["thinking_texts"] += sum(step["thinking"] is not None for step in item.steps)
        tally.not_held["times"] += sum(step["ts"] is not None for step in item.steps)
        tally.not_held["usage_records"] += sum(step["usage"] is not None for step in item.steps)
        tally.not_held["error_flags"] += sum(step["is_error"] is True for step in item.steps)
        yield item


def origin(item: Item) -> dict[str, Json]:
    """Where a row came from."""
    return {
        name: item.row[name] for name in ("trajectory_id", "session_id", "attempt_id", "task_id", "policy", "class")
    }


def _with_objects(message: dict[str, Json]) -> dict[str, Json]:
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**call["function"], "arguments": read_json(call["function"]["arguments"])}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}
