"""A model's answer as the proxy recorded it: streamed or whole, to one assistant message with its exact tokens.

Belongs here: reading response bodies. Does not belong here: requests, joining with the transcript (`served`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from lake.ids import Json

_decode = msgspec.json.Decoder().decode


@dataclass(slots=True)
class Completion:
    """What one call generated."""

    response_id: str | None = None
    text: str = ""
    thinking: str = ""
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    """Index to {id, name, arguments}; arguments as generated, maybe no JSON."""
    finish_reason: str | None = None
    usage: dict[str, Json] | None = None
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    begun: bool = False
    """There was at least one choice."""

    @property
    def message(self) -> dict[str, Json]:
        """As an OpenAI chat message."""
        message: dict[str, Json] = {"role": "assistant", "content": self.text or None}
        if self.thinking:
            message["reasoning_content"] = self.thinking
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for _, call in sorted(self.calls.items())
            ]
        return message


def read_completion(body: bytes) -> Completion | None:
    """The completion in a response body (server-sent events or JSON), or None when there is none."""
    found = Completion()
    if body.lstrip()[:1] == b"{":
        _take(found, _object(body), "message")
    else:
        for data in _events(body):
            _take(found, _object(data), "delta")
    return found if found.begun else None


def _events(body: bytes) -> Iterator[bytes]:
    for line in body.split(b"\n"):
        if line.startswith(b"data:"):
            yield line[5:].strip()


def _object(data: bytes) -> dict[str, Json]:
    try:
        value = _decode(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _take(found: Completion, value: dict[str, Json], part: str) -> None:
    if found.response_id is None and isinstance(value.get("id"), str):
        found.response_id = value["id"]
    if isinstance(value.get("usage"), dict):
        found.usage = value["usage"]
    found.prompt_token_ids = _ids(value.get("prompt_token_ids")) or found.prompt_token_ids
    choices = value.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if not isinstance(choice, dict) or choice.get("index", 0) != 0:
            continue
        found.begun = True
        if isinstance(choice.get("finish_reason"), str):
            found.finish_reason = choice["finish_reason"]
        found.prompt_token_ids = _ids(choice.get("prompt_token_ids")) or found.prompt_token_ids
        _take_tokens(found, choice)
        message = choice.get(part)
        if isinstance(message, dict):
            _take_message(found, message)


def _take_message(found: Completion, message: dict[str, Json]) -> None:
    if isinstance(message.get("content"), str):
        found.text += message["content"]
    thinking = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(thinking, str):
        found.thinking += thinking
    calls = message.get("tool_calls")
    for position, call in enumerate(calls if isinstance(calls, list) else ()):
        if not isinstance(call, dict):
            continue
        index = call.get("index")
        slot = found.calls.setdefault(
            index if isinstance(index, int) else position, {"id": "", "name": "", "arguments": ""}
        )
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        slot["id"] = slot["id"] or str(call.get("id") or "")
        slot["name"] += str(function.get("name") or "")
        slot["arguments"] += str(function.get("arguments") or "")


def _take_tokens(found: Completion, choice: dict[str, Json]) -> None:
    for name in ("completion_token_ids", "token_ids"):
        ids = _ids(choice.get(name))
        if ids:
            found.completion_token_ids = (found.completion_token_ids or []) + ids
            break
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    for token in content if isinstance(content, list) else ():
        value = token.get("logprob") if isinstance(token, dict) else None
        if isinstance(value, (int, float)) and math.isfinite(value):
            found.logprobs = found.logprobs if found.logprobs is not None else []
            found.logprobs.append(float(value))


def _ids(value: Json) -> list[int] | None:
    if isinstance(value, list) and value and all(type(item) is int and 0 <= item < 2**31 for item in value):
        return list(value)
    return None
