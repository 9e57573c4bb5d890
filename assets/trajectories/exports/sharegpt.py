"""ShareGPT: JSON lines with `conversations` of `from` and `value`, beside `system` and `tools`.

A turn's text is `gpt`, its calls are one `function_call` (an object, or a list of several), each result is an
`observation`. Does not belong here: which rows to train on (`sft`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from assets.trajectories.exports.item import About, Item, Tally, read_json, to_json, write_lines
from assets.trajectories.exports.trl import origin, trainable
from lake.ids import Json


def write(items: Iterable[Item], to: Path, about: About, tally: Tally) -> None:
    """See `Writer`."""
    write_lines(_lines(items, tally), to)


def _lines(items: Iterable[Item], tally: Tally) -> Iterator[Json]:
    tally.expect("call_ids", "turns_split", "answers_marked_as_context")
    for item in trainable(items, tally):
        messages = item.messages
        first = messages[0] if messages and messages[0]["role"] == "system" else None
        yield {
            "conversations": [entry for message in messages[first is not None :] for entry in _entries(message, tally)],
            "system": "" if first is None else first["content"],
            "tools": to_json(item.tools),
            **origin(item),
        }


def _entries(message: dict[str, Json], tally: Tally) -> Iterator[dict[str, Json]]:
    """A message as entries; `weight` 0 stays on those of an answer that is only context."""
    speaker = {"system": "system", "user": "human", "tool": "observation"}.get(message["role"], "gpt")
    calls = message.get("tool_calls") or []
    weight = {"weight": message["weight"]} if "weight" in message else {}
    tally.not_held["call_ids"] += len(calls)
    tally.not_held["answers_marked_as_context"] += bool(weight)
    if message["content"] or not calls:
        yield {"from": speaker, "value": message["content"], **weight}
    if calls:
        tally.not_held["turns_split"] += bool(message["content"])
        functions = [
            {"name": call["function"]["name"], "arguments": read_json(call["function"]["arguments"])} for call in calls
        ]
        yield {
            "from": "function_call",
            "value": to_json(functions[0] if len(functions) == 1 else functions),
            **weight,
        }
