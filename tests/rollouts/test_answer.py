"""Reading what a model answered, and telling an answer from nonsense."""

from __future__ import annotations

import json

import pytest

from assets.rollouts.proxy.answer import read_answer


def chunk(**delta: object) -> bytes:
    value = {"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    return b"data: " + json.dumps(value).encode() + b"\n\n"


FINISH = b'data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n'
USAGE = b'data: {"id":"c1","choices":[],"usage":{"total_tokens":7}}\n\ndata: [DONE]\n\n'


def test_a_streamed_answer_is_put_together() -> None:
    call = {"index": 0, "id": "x", "function": {"name": "exec", "arguments": '{"comm'}}
    rest = {"index": 0, "function": {"arguments": 'and": "ls"}'}}
    body = chunk(content="Let ") + chunk(content="me.") + chunk(tool_calls=[call]) + chunk(tool_calls=[rest])
    answer = read_answer(body + FINISH + USAGE, streamed=True)
    assert (answer.response_id, answer.text, answer.finish_reason) == ("c1", "Let me.", "tool_calls")
    assert answer.tool_calls[0] == {"id": "x", "name": "exec", "arguments": '{"command": "ls"}'}
    assert (answer.tokens, answer.done, answer.nonsense, answer.malformed_call) == (7, True, None, None)


@pytest.mark.parametrize("arguments", ['{"command": "l', "[1]", "ls"])
def test_broken_arguments_are_malformed(arguments: str) -> None:
    call = {"index": 0, "id": "x", "function": {"name": "exec", "arguments": arguments}}
    answer = read_answer(chunk(tool_calls=[call]) + FINISH, streamed=True)
    assert answer.nonsense is None
    assert "exec" in str(answer.malformed_call)


def test_an_answer_that_breaks_off_is_not_done() -> None:
    assert not read_answer(chunk(content="Let "), streamed=True).done


@pytest.mark.parametrize(
    "body",
    [
        b"<html><body>It works!</body></html>",
        b"",
        b"data: {broken\n\n",
        b'data: {"error": {"message": "overloaded"}}\n\n',
        b'data: {"object": "list"}\n\n',
        b"\xff\xfe\x00",
    ],
)
def test_nonsense_is_named(body: bytes) -> None:
    assert read_answer(body, streamed=True).nonsense


def test_a_whole_answer_is_read_too() -> None:
    body = {"id": "c2", "choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
    answer = read_answer(json.dumps(body).encode(), streamed=False)
    assert (answer.response_id, answer.text, answer.done) == ("c2", "hi", True)
