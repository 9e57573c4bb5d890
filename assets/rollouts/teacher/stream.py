"""The teacher's answers on the wire: chat completions, streamed or whole.

Belongs here: the OpenAI format. Does not belong here: what is answered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from assets.rollouts.teacher.route import Move
from lake.ids import Json

_PIECE = 160
_LABEL = "scripted teacher; usage = characters/4"
"""Stands in each answer's `system_fingerprint`."""


def answer(move: Move, request: Mapping[str, Json], response_id: str, turn: int) -> Iterator[bytes]:
    """The bytes of an answer.

    Args:
        move: what is answered.
        request: the chat completion request.
        response_id: id of the completion.
        turn: position in the conversation; makes the ids of calls unique in it.
    """
    calls = [
        {
            "id": f"call{turn:04d}n{index:02d}",
            "type": "function",
            "function": {"name": call.tool, "arguments": _arguments(call.arguments, broken=move.kind == "malformed")},
        }
        for index, call in enumerate(move.calls)
    ]
    finish = "tool_calls" if calls else "stop"
    usage = _usage(request, move.say, calls)
    head = {"id": response_id, "created": 0, "model": request.get("model"), "system_fingerprint": _LABEL}
    if not request.get("stream"):
        message: dict[str, Json] = {"role": "assistant", "content": move.say or None}
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": finish}
        whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        yield json.dumps(whole, ensure_ascii=False).encode()
        return
    head["object"] = "chat.completion.chunk"
    for delta in _deltas(move.say, calls):
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if (request.get("stream_options") or {}).get("include_usage"):
        yield _event({**head, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _deltas(say: str, calls: list[dict[str, Json]]) -> Iterator[dict[str, Json]]:
    yield {"role": "assistant", "content": ""}
    for start in range(0, len(say), _PIECE):
        yield {"content": say[start : start + _PIECE]}
    for index, call in enumerate(calls):
        function = call["function"]
        opening = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        yield {"tool_calls": [opening]}
        for start in range(0, len(function["arguments"]), _PIECE):
            piece = function["arguments"][start : start + _PIECE]
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _arguments(arguments: Mapping[str, Json], *, broken: bool) -> str:
    text = json.dumps(dict(arguments), ensure_ascii=False)
    return text[: max(1, len(text) // 2)] if broken else text


def _usage(request: Mapping[str, Json], say: str, calls: list[dict[str, Json]]) -> dict[str, Json]:
    prompt = len(json.dumps([request.get("messages"), request.get("tools")], ensure_ascii=False)) // 4
    made = (len(say) + (len(json.dumps(calls, ensure_ascii=False)) if calls else 0) + 3) // 4
    return {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}


def _event(value: dict[str, Json]) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"
