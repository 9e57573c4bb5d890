"""The wire format: reading chat completion requests, writing answers and errors as OpenAI's API does.

Belongs here: JSON in and out, and what is refused. Does not belong here: generating. Token ids go under the names vLLM
gives them: `return_token_ids` asks, `prompt_token_ids` and `token_ids` answer.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lake.ids import Json
from training.chat import Conversation
from training.server.engine import Sampling

_UNSUPPORTED: Final[Mapping[str, tuple[Json, ...]]] = {
    "n": (None, 1),
    "frequency_penalty": (None, 0),
    "presence_penalty": (None, 0),
    "logit_bias": (None, {}),
    "response_format": (None, {"type": "text"}),
    "tool_choice": (None, "auto", "none"),
}
"""Fields that change what is generated and that this server has no way to honour, with the values it can."""

_ROLES: Final = ("system", "developer", "user", "assistant", "tool")
_MOST_TOP_LOGPROBS: Final = 20


class RequestError(Exception):
    """A request that cannot be served; the message says why."""

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.param, self.code, self.status = param, code, status


@dataclass(frozen=True)
class ChatRequest:
    """A chat completion request that can be served."""

    model: str
    conversation: Conversation
    sampling: Sampling
    max_tokens: int | None
    stops: tuple[str, ...]
    stream: bool
    include_usage: bool
    logprobs: bool
    token_ids: bool


def read_request(body: Json, *, temperature: float) -> ChatRequest:
    """Check a request.

    Args:
        body: the decoded JSON.
        temperature: what holds when the request names none.

    Raises:
        RequestError: it cannot be served as asked.
    """
    if not isinstance(body, dict):
        raise RequestError("the body must be a JSON object")
    for name, allowed in _UNSUPPORTED.items():
        if body.get(name) not in allowed:
            raise RequestError(f"{name}={body[name]!r} is not supported", param=name, code="unsupported_value")
    messages = _messages(body.get("messages"))
    tools = [] if body.get("tool_choice") == "none" else _tools(body.get("tools"))
    stop = body.get("stop") or []
    stops = [stop] if isinstance(stop, str) else stop
    if not isinstance(stops, list) or len(stops) > 4 or not all(isinstance(s, str) for s in stops):
        raise RequestError("stop must be a string or up to four", param="stop")
    options = body.get("stream_options") or {}
    return ChatRequest(
        model=str(body.get("model", "")),
        conversation=Conversation(messages, tools),
        sampling=_sampling(body, temperature),
        max_tokens=_number(body, "max_completion_tokens", "max_tokens", low=1, whole=True),
        stops=tuple(stops),
        stream=bool(body.get("stream")),
        include_usage=isinstance(options, dict) and bool(options.get("include_usage")),
        logprobs=bool(body.get("logprobs")),
        token_ids=bool(body.get("return_token_ids")),
    )


def _sampling(body: Mapping[str, Json], temperature: float) -> Sampling:
    asked = _number(body, "temperature", low=0, high=2)
    top_p = _number(body, "top_p", low=0, high=1)
    seed = _number(body, "seed", low=-(2**63), high=2**63 - 1, whole=True)
    top = _number(body, "top_logprobs", low=0, high=_MOST_TOP_LOGPROBS, whole=True)
    top_k = _number(body, "top_k", low=-1, whole=True)
    return Sampling(
        temperature=temperature if asked is None else asked,
        top_p=1.0 if top_p is None else top_p,
        top_k=max(0, int(top_k or 0)),
        seed=secrets.randbits(62) if seed is None else int(seed) % 2**63,
        top_logprobs=int(top or 0) if body.get("logprobs") else 0,
    )


def _number(body: Mapping[str, Json], *names: str, low: float, high: float = float("inf"), whole: bool = False) -> Json:
    """The first of the fields that is given, None where none is."""
    for name in names:
        value = body.get(name)
        if value is None:
            continue
        kinds = (int,) if whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
            raise RequestError(
                f"{name}={value!r} must be a {'whole ' if whole else ''}number from {low} to {high}", param=name
            )
        return value
    return None


def _messages(messages: Json) -> list[Mapping[str, Json]]:
    if not isinstance(messages, list) or not messages:
        raise RequestError("messages must be a list that is not empty", param="messages")
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise RequestError(f"messages[{index}] has no role out of {', '.join(_ROLES)}", param="messages")
        content = message.get("content")
        if isinstance(content, list):
            if not all(isinstance(part, dict) and isinstance(part.get("text", ""), str) for part in content):
                raise RequestError(f"messages[{index}].content holds a part that is no object", param="messages")
        elif content is not None and not isinstance(content, str):
            raise RequestError(f"messages[{index}].content must be text, a list of parts or null", param="messages")
        for call in message.get("tool_calls") or []:
            if (
                not isinstance(call, dict)
                or not isinstance(call.get("function"), dict)
                or "name" not in call["function"]
            ):
                raise RequestError(
                    f"messages[{index}].tool_calls holds a call without a function name", param="messages"
                )
    return messages


def _tools(tools: Json) -> list[Mapping[str, Json]]:
    tools = tools or []
    named = (isinstance(t, dict) and isinstance(t.get("function"), dict) and "name" in t["function"] for t in tools)
    if not isinstance(tools, list) or not all(named):
        raise RequestError("tools must be a list of {type, function: {name, …}}", param="tools")
    return tools


def error_body(message: str, *, status: int, param: str | None = None, code: str | None = None) -> dict[str, Json]:
    """An error as OpenAI's API writes it."""
    kind = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}.get(status)
    kind = kind or ("server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def models_body(names: Sequence[str], created: int, max_positions: int) -> dict[str, Json]:
    """The list of models."""
    data = [
        {"id": name, "object": "model", "created": created, "owned_by": "clawgym", "max_model_len": max_positions}
        for name in names
    ]
    return {"object": "list", "data": data}


@dataclass(frozen=True)
class Envelope:
    """What all chunks of an answer share."""

    response_id: str
    created: int
    model: str

    @staticmethod
    def new(model: str) -> Envelope:
        """A fresh one."""
        return Envelope(f"chatcmpl-{secrets.token_hex(12)}", int(time.time()), model)

    def chunk(self, choices: list[Json], **more: Json) -> dict[str, Json]:
        """One chunk of a stream."""
        return {"id": self.response_id, "object": "chat.completion.chunk", **self._common(), "choices": choices, **more}

    def whole(self, choice: Json, usage: Json, **more: Json) -> dict[str, Json]:
        """A whole answer."""
        common = {"id": self.response_id, "object": "chat.completion", **self._common()}
        return {**common, "choices": [choice], "usage": usage, **more}

    def _common(self) -> dict[str, Json]:
        return {"created": self.created, "model": self.model}


def usage_body(prompt: int, completion: int, cached: int) -> dict[str, Json]:
    """Token counts, exact: the prompt as encoded, every generated token with the end of turn."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
