"""The linear conversation of a trajectory: OpenAI chat messages, one sequence, without transient and thinking text.

Belongs here: steps to messages. Does not belong here: masking (`render`), what the model was served (`served`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assets.trajectories.content import dumps
from assets.trajectories.steps import Step
from lake.ids import Json


def message_of(step: Step) -> dict[str, Json]:
    """A step as an OpenAI chat message; arguments as JSON text.

    An answer that is only context here (kept over a compaction, or copied from another session) has `weight` 0, as the
    fine-tuning format has it: it is served to the model and never trained on.
    """
    if step.role == "tool":
        return {"role": "tool", "tool_call_id": step.tool_call_id, "content": step.text}
    message: dict[str, Json] = {"role": step.role, "content": step.text}
    if step.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": dumps(call.arguments)}}
            for call in step.calls
        ]
    if step.context and step.role == "assistant":
        message["weight"] = 0
    return message


def linear(steps: Iterable[Step], system: str | None) -> Iterator[tuple[Step | None, dict[str, Json]]]:
    """Messages in order, each with its step; the system prompt, where it is known, has none."""
    if system is not None:
        yield None, {"role": "system", "content": system}
    for step in steps:
        if step.spoken:
            yield step, message_of(step)
