"""What a model's answer says: id, usage, finish reason, tool calls; and whether it is an answer at all.

Belongs here: reading chat completions, streamed or whole. Does not belong here: changing them; the connection.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lake.ids import Json


@dataclass
class Answer:
    """The content of one chat completion."""

    response_id: str | None = None
    text: str = ""
    tool_calls: dict[int, dict[str, str]] = field(default_factory=dict)
    """Index to {id, name, arguments}; arguments as the model wrote them."""
    usage: Mapping[str, Json] | None = None
    finish_reason: str | None = None
    nonsense: str | None = None
    """Why this is no chat completion; null when it is one."""
    done: bool = False
    """Whether it came to its end."""

    @property
    def malformed_call(self) -> str | None:
        """What is wrong with its first malformed tool call (no name, arguments that are no object); null when none."""
        for call in self.tool_calls.values():
            if not call["name"]:
                return "a tool call without a name"
            try:
                parsed = json.loads(call["arguments"] or "{}")
            except ValueError:
                return f"arguments of {call['name']} are not JSON: {call['arguments'][:80]!r}"
            if not isinstance(parsed, dict):
                return f"arguments of {call['name']} are no object: {call['arguments'][:80]!r}"
        return None

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens as the endpoint counted them; 0 when it did not."""
        total = (self.usage or {}).get("total_tokens")
        return int(total) if isinstance(total, int | float) else 0


def read_answer(body: bytes, *, streamed: bool) -> Answer:
    """Read a response body with status 200.

    Args:
        body: server-sent events when `streamed`, else one JSON object.
    """
    answer = Answer()
    if streamed:
        for data in _events(body):
            if data == "[DONE]":
                answer.done = True
                break
            _take(answer, data, "delta")
            if answer.nonsense is not None:
                return answer
        answer.done = answer.done or answer.finish_reason is not None
    else:
        _take(answer, body.decode("utf-8", "replace"), "message")
        answer.done = answer.nonsense is None
    if answer.nonsense is None and answer.response_id is None:
        answer.nonsense = f"no chat completion in it: {_cut(body)}"
    return answer


def _events(body: bytes) -> Iterator[str]:
    for line in body.decode("utf-8", "replace").split("\n"):  # U+2028 may stand inside a text
        if line.startswith("data:"):
            yield line[5:].strip()


def _take(answer: Answer, text: str, part: str) -> None:
    try:
        value = json.loads(text)
    except ValueError:
        answer.nonsense = f"not JSON: {_cut(text.encode())}"
        return
    choices = value.get("choices") if isinstance(value, dict) else None
    if isinstance(value, dict) and isinstance(value.get("error"), dict | str):
        answer.nonsense = f"an error inside an answer with status 200: {_cut(text.encode())}"
        return
    if not isinstance(choices, list):
        answer.nonsense = f"no chat completion: {_cut(text.encode())}"
        return
    answer.response_id = answer.response_id or (str(value["id"]) if value.get("id") else None)
    if isinstance(value.get("usage"), dict):
        answer.usage = value["usage"]
    for choice in choices:
        if not isinstance(choice, dict) or choice.get("index", 0) != 0:
            continue
        answer.finish_reason = choice.get("finish_reason") or answer.finish_reason
        _take_message(answer, choice.get(part) or {})


def _take_message(answer: Answer, message: Mapping[str, Json]) -> None:
    if isinstance(message.get("content"), str):
        answer.text += message["content"]
    for position, call in enumerate(message.get("tool_calls") or ()):
        slot = answer.tool_calls.setdefault(int(call.get("index", position)), {"id": "", "name": "", "arguments": ""})
        function = call.get("function") or {}
        slot["id"] = slot["id"] or str(call.get("id") or "")
        slot["name"] += str(function.get("name") or "")
        slot["arguments"] += str(function.get("arguments") or "")


def _cut(data: bytes) -> str:
    return repr(data[:120].decode("utf-8", "replace"))
