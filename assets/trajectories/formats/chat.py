"""Conversations in OpenAI's chat messages (`messages`, and `tools` where given): the form ClawGym publishes.

The role `system` before the first turn is the system prompt; tool calls are `tool_calls`, or the older
`function_call`. Reasoning is read from `reasoning_content` or `reasoning`. Does not belong here: ATIF.
"""

from __future__ import annotations

from typing import Final

from assets.trajectories.formats.conversation import Conversation, blocks_of, text_in
from lake.ids import Json

_NAMES: Final = ("session_id", "trajectory_id", "id", "uid", "rollout_id", "instance_id")
"""Fields by which rows name themselves."""

_INSTRUCTIONS: Final = frozenset({"system", "developer"})
_THINKING: Final = ("reasoning_content", "reasoning", "thinking")
_STOPS: Final = {"tool_calls": "toolUse", "function_call": "toolUse", "stop": "stop", "length": "length"}


def conversations(document: dict[str, Json]) -> list[Conversation]:
    """See `Format`."""
    messages = document.get("messages")
    if not isinstance(messages, list):
        return []
    name = next((document[key] for key in _NAMES if isinstance(document.get(key), str | int)), None)
    found = Conversation(None if name is None or isinstance(name, bool) else str(name))
    tools = document.get("tools", document.get("functions"))
    found.tools = tools if isinstance(tools, list) else None
    systems: list[str] = []
    waiting: list[Json] = []
    for number, message in enumerate(messages):
        if not isinstance(message, dict):
            found.notes.append(("odd_content", f"message {number} is {type(message).__name__}"))
            continue
        if str(message.get("role")) in _INSTRUCTIONS and not found.records:
            systems.append(text_in(message.get("content")))
            continue
        _say(found, message, number, waiting)
    found.system = "\n\n".join(systems) if systems else None
    return [found]


def _say(found: Conversation, message: dict[str, Json], number: int, waiting: list[Json]) -> None:
    """Add a message; `waiting` are the ids of calls not answered yet, for results that name none."""
    role = str(message.get("role"))
    time = message.get("timestamp")
    content = blocks_of(message.get("content"))
    if role in _INSTRUCTIONS:
        found.insert(text_in(message.get("content")), "system", time)
    elif role == "assistant":
        calls = [_call(call, number, index, found) for index, call in enumerate(_stated_calls(message))]
        waiting[:] = [call["id"] for call in calls]
        thinking = next((message[key] for key in _THINKING if isinstance(message.get(key), str)), None)
        found.say(
            {
                "role": "assistant",
                "content": [
                    *([{"type": "thinking", "thinking": thinking}] if thinking else []),
                    *content,
                    *calls,
                ],
                "model": message.get("model"),
                "responseId": message.get("response_id"),
                "usage": message.get("usage"),
                "stopReason": _STOPS.get(str(message.get("finish_reason"))),
            },
            time,
        )
    elif role in ("tool", "function"):
        answered = message.get("tool_call_id")
        if answered in waiting:
            waiting.remove(answered)
        elif not answered and waiting:
            answered = waiting.pop(0)
        found.say(
            {
                "role": "toolResult",
                "toolCallId": answered,
                "toolName": message.get("name"),
                "content": content,
                "isError": message.get("is_error"),
            },
            time,
        )
    else:
        found.say({"role": role, "content": content}, time)


def _stated_calls(message: dict[str, Json]) -> list[Json]:
    stated = message.get("tool_calls")
    calls = stated if isinstance(stated, list) else [] if stated is None else [stated]
    older = message.get("function_call")
    return [*calls, {"function": older}] if isinstance(older, dict) else calls


def _call(call: Json, number: int, index: int, found: Conversation) -> dict[str, Json]:
    value = call if isinstance(call, dict) else {"arguments": call}
    function = value["function"] if isinstance(value.get("function"), dict) else value
    stated = value.get("id")
    if not isinstance(stated, str) or not stated:
        stated = f"call_{number}_{index}"
        found.notes.append(("tool_call_id_synthesized", f"message {number}: {stated}"))
    return {"type": "toolCall", "id": stated, "name": function.get("name"), "arguments": function.get("arguments")}
