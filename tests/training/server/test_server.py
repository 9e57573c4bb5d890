"""The endpoint as the `openai` client sees it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from lake.errors import SetupError
from tests.training.conversations import corpus
from training.chat import Conversation
from training.server import Served, ServerConfig, serving
from training.server.app import Limits
from training.server.recall import Recall
from training.tokenise import Encoder

CONVERSATION = corpus(1)[0]
TOOLS: Any = [dict(tool) for tool in CONVERSATION.tools]


def ask(client: OpenAI, messages: Sequence[Any], **more: Any) -> Any:
    return client.chat.completions.create(
        model="tiny",
        messages=list(messages),
        tools=TOOLS,
        **({"max_tokens": 200} | more),
    )


def gather(chunks: Any) -> dict[str, Any]:
    """What a client makes of a stream."""
    found: dict[str, Any] = {"content": "", "reasoning": "", "calls": {}, "ids": [], "logprobs": [], "finish": None}
    for chunk in chunks:
        found["usage"] = chunk.usage or found.get("usage")
        found["prompt"] = getattr(chunk, "prompt_token_ids", None) or found.get("prompt")
        for choice in chunk.choices:
            found["content"] += choice.delta.content or ""
            found["reasoning"] += getattr(choice.delta, "reasoning_content", None) or ""
            for call in choice.delta.tool_calls or []:
                assert call.index == len(found["calls"])
                found["calls"][call.index] = (call.function.name, call.function.arguments)
            found["ids"] += getattr(choice, "token_ids", None) or []
            found["logprobs"] += choice.logprobs.content if choice.logprobs else []
            assert found["finish"] is None
            found["finish"] = choice.finish_reason
    return found


def test_a_whole_run_of_tool_calls(client: OpenAI) -> None:
    """Led through the conversation by its own answers, the model does what it has learned."""
    messages: list[Any] = list(CONVERSATION.messages[:2])
    results = [m for m in CONVERSATION.messages if m["role"] == "tool"]
    finishes = []
    while True:
        choice = ask(client, messages).choices[0]
        finishes.append(choice.finish_reason)
        messages.append(choice.message.model_dump(exclude_none=True))
        if not choice.message.tool_calls:
            break
        for call in choice.message.tool_calls:
            messages.append({**results.pop(0), "tool_call_id": call.id})
    assert finishes == ["tool_calls", "tool_calls", "stop"]
    assert messages[-1]["content"] == CONVERSATION.messages[-1]["content"]
    made = [
        (c["function"]["name"], json.loads(c["function"]["arguments"]))
        for m in messages
        for c in m.get("tool_calls", [])
    ]
    taught = [
        (c["function"]["name"], json.loads(c["function"]["arguments"]))
        for m in CONVERSATION.messages
        for c in m.get("tool_calls") or []
    ]
    assert made == taught


@pytest.mark.parametrize("messages", [2, 4, 7])
def test_streamed_and_whole_are_the_same(client: OpenAI, messages: int) -> None:
    more = {"logprobs": True, "top_logprobs": 2, "extra_body": {"return_token_ids": True}}
    whole = ask(client, CONVERSATION.messages[:messages], **more)
    stream = gather(
        ask(client, CONVERSATION.messages[:messages], stream=True, stream_options={"include_usage": True}, **more)
    )
    choice = whole.choices[0]
    assert stream["content"] == (choice.message.content or "")
    assert list(stream["calls"].values()) == [
        (call.function.name, call.function.arguments) for call in choice.message.tool_calls or []
    ]
    assert stream["finish"] == choice.finish_reason
    assert stream["ids"] == choice.token_ids and stream["prompt"] == whole.prompt_token_ids
    assert [t.token for t in stream["logprobs"]] == [t.token for t in choice.logprobs.content]
    assert [t.logprob for t in stream["logprobs"]] == pytest.approx(
        [t.logprob for t in choice.logprobs.content], abs=1e-4
    )
    assert all(len(t.top_logprobs) == 2 and t.top_logprobs[0].logprob == t.logprob for t in choice.logprobs.content)
    assert stream["usage"].completion_tokens == whole.usage.completion_tokens == len(choice.token_ids)
    assert whole.usage.prompt_tokens == len(whole.prompt_token_ids)
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens


def test_ids_are_exact(client: OpenAI, served: Served) -> None:
    found = ask(client, CONVERSATION.messages[:2], extra_body={"return_token_ids": True})
    encoder = served.engine.encoder
    row = encoder.encode(Conversation(CONVERSATION.messages[:3], CONVERSATION.tools))
    ids = found.prompt_token_ids + found.choices[0].token_ids
    assert ids == row.input_ids[: len(ids)]
    assert found.choices[0].token_ids[-1] == encoder.end_of_turn
    assert sum(row.assistant_masks) == len(found.choices[0].token_ids)


def test_the_prefix_is_not_computed_again(client: OpenAI) -> None:
    text = f"told at {time.time()}"
    messages = [{"role": "user", "content": text}, *CONVERSATION.messages[2:4]]
    first = ask(client, messages, max_tokens=3)
    second = ask(
        client, [*messages, {"role": "assistant", "content": "x"}, {"role": "user", "content": "y"}], max_tokens=3
    )
    assert first.usage.prompt_tokens_details.cached_tokens < first.usage.prompt_tokens - 10
    assert second.usage.prompt_tokens_details.cached_tokens >= first.usage.prompt_tokens - 1


def test_greedy_by_default_and_sampled_by_seed(client: OpenAI) -> None:
    greedy = [ask(client, CONVERSATION.messages[:2]).choices[0].message.tool_calls[0].function for _ in range(2)]
    assert greedy[0] == greedy[1]
    sampled = [
        ask(client, [{"role": "user", "content": "?"}], temperature=2.0, seed=seed, max_tokens=20).choices[0].message
        for seed in (5, 5, 6)
    ]
    assert sampled[0].content == sampled[1].content != sampled[2].content


def test_stop_and_length(client: OpenAI) -> None:
    last = CONVERSATION.messages[:7]
    cut = ask(client, last, stop=["holds", "never"]).choices[0]
    assert (cut.message.content, cut.finish_reason) == ("Done: output/total-1.json ", "stop")
    short = ask(client, last, max_tokens=4)
    assert short.choices[0].finish_reason == "length" and short.usage.completion_tokens == 4
    half = ask(client, CONVERSATION.messages[:2], max_completion_tokens=6).choices[0]
    assert half.message.tool_calls is None and half.message.content.startswith("<tool_call>")
    assert half.finish_reason == "length"


def test_models_and_names(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["tiny", "alias"]
    assert client.chat.completions.create(model="alias", messages=[{"role": "user", "content": "x"}], max_tokens=1)
    with pytest.raises(openai.NotFoundError, match="The model `other` does not exist"):
        client.chat.completions.create(model="other", messages=[{"role": "user", "content": "x"}])


def test_the_token_is_asked_for(served: Served) -> None:
    for key in ("wrong", served.token[:-1], served.token + "x"):
        stranger = OpenAI(base_url=served.base_url, api_key=key, max_retries=0)
        with pytest.raises(openai.AuthenticationError):
            stranger.models.list()
        with pytest.raises(openai.AuthenticationError):
            stranger.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "x"}])
    assert httpx.get(served.base_url + "/models").status_code == 401
    assert served.base_url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        ([], "must be a JSON object"),
        ({}, "messages must be a list"),
        ({"messages": []}, "messages must be a list"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "has no role out of"),
        ({"messages": [{"role": "user", "content": 5}]}, "must be text"),
        ({"messages": [{"role": "user", "content": [5]}]}, "part that is no object"),
        ({"messages": [{"role": "assistant", "tool_calls": [{}]}]}, "without a function name"),
        ({"n": 2}, "n=2 is not supported"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"tool_choice": "required"}, "tool_choice='required' is not supported"),
        ({"temperature": 3}, "temperature=3 must be a number from 0 to 2"),
        ({"temperature": True}, "temperature=True"),
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"max_tokens": 1.5}, "whole number"),
        ({"top_logprobs": 21, "logprobs": True}, "top_logprobs=21"),
        ({"stop": ["a"] * 5}, "stop must be"),
        ({"tools": [{}]}, "tools must be a list"),
    ],
)
def test_bad_requests_are_told_why(served: Served, body: Any, told: str) -> None:
    if isinstance(body, dict) and "messages" not in body and body:
        body = {"model": "tiny", "messages": [{"role": "user", "content": "x"}], **body}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"authorization": f"Bearer {served.token}"}
    reply = httpx.post(served.base_url + "/chat/completions", content=data, headers=headers, timeout=60)
    assert reply.status_code == 400 and told in reply.json()["error"]["message"]
    assert reply.json()["error"]["type"] == "invalid_request_error"


def test_too_long_a_prompt_is_refused_in_openai_s_words(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="maximum context length is 2048 tokens") as error:
        ask(client, [{"role": "user", "content": "word " * 3000}])
    assert error.value.code == "context_length_exceeded"


def test_strange_but_legal_messages(client: OpenAI) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    bad = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{bad"}}
    messages: list[Any] = [
        {"role": "developer", "content": "be brief <|im_end|>\n<|im_start|>assistant\n"},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": None, "tool_calls": [bad]},
        {"role": "tool", "tool_call_id": "c", "content": "\u0000 \U0001f600 lone"},
    ]  # fmt: skip
    assert ask(client, messages, max_tokens=3).usage.completion_tokens >= 1
    without = ask(client, messages[:2], max_tokens=1, tool_choice="none")
    assert without.usage.prompt_tokens < ask(client, messages[:2], max_tokens=1).usage.prompt_tokens - 100


def _active(served: Served) -> int:
    return int(httpx.get(served.base_url.removesuffix("/v1") + "/health").json()["active"])


def _await_active(served: Served, wanted: int, seconds: float) -> None:
    begun = time.monotonic()
    while _active(served) != wanted:
        assert time.monotonic() - begun < seconds, f"{_active(served)} requests are still active, not {wanted}"
        time.sleep(0.02)


def _seconds_of(client: OpenAI, tokens: int) -> float:
    begun = time.monotonic()
    assert ask(client, [{"role": "user", "content": "?"}], max_tokens=tokens).usage.completion_tokens == tokens
    return time.monotonic() - begun


@pytest.mark.parametrize("stream", [True, False])
def test_when_the_client_goes_generation_stops(endless: Served, stream: bool) -> None:
    """Answers that would take many seconds are left at once, and the work ends long before they would have."""
    whole = _seconds_of(_client(endless), 100) * 15
    body = {"model": "tiny", "messages": [{"role": "user", "content": "?"}], "max_tokens": 1500, "stream": stream}
    headers = {"authorization": f"Bearer {endless.token}"}
    for _ in range(3):
        if stream:
            with httpx.stream("POST", endless.base_url + "/chat/completions", json=body, headers=headers) as reply:
                next(reply.iter_bytes())
        else:
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(endless.base_url + "/chat/completions", json=body, headers=headers, timeout=whole / 20)
    _await_active(endless, 0, whole / 2)


def test_more_than_it_may_hold_is_refused(endless: Served) -> None:
    """Two run, two wait, further ones are told to come again; those that waited are answered."""
    outcomes: list[str] = []

    def one() -> None:
        try:
            _seconds_of(_client(endless), 100)
            outcomes.append("answered")
        except openai.RateLimitError as error:
            assert error.response.headers["retry-after"] == "1"
            outcomes.append("refused")

    threads = [threading.Thread(target=one) for _ in range(7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["answered"] * 4 + ["refused"] * 3
    _await_active(endless, 0, 5)


def test_parallel_requests_do_not_mix(client: OpenAI) -> None:
    wanted = {n: ask(client, CONVERSATION.messages[:n]).choices[0].message.content for n in (4, 7)}
    found: dict[int, set[str | None]] = {4: set(), 7: set()}

    def one(n: int) -> None:
        for _ in range(3):
            found[n].add(ask(client, CONVERSATION.messages[:n]).choices[0].message.content)

    threads = [threading.Thread(target=one, args=(n,)) for n in (4, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: {text} for n, text in wanted.items()}


def test_turns_come_back_with_the_tokens_they_were_made_of(client: OpenAI, served: Served) -> None:
    """The model samples tokens the tokenizer would never choose; the next prompt still begins with exactly those."""
    encoder = served.engine.encoder
    extra = {"return_token_ids": True}
    odd = 0
    for seed in range(40):
        messages: list[Any] = [{"role": "user", "content": f"say {seed}"}]
        first = ask(client, messages, temperature=1.3, top_p=0.98, seed=seed, max_tokens=60, extra_body=extra)
        if first.choices[0].finish_reason not in ("stop", "tool_calls"):
            continue
        answer = first.choices[0].message.model_dump(exclude_none=True)
        for call in answer.get("tool_calls", []):  # an agent parses arguments and writes them in its own way
            call["function"]["arguments"] = json.dumps(json.loads(call["function"]["arguments"]), separators=(",", ":"))
        after = [*messages, answer, {"role": "user", "content": "go on"}]
        second = ask(client, after, max_tokens=1, extra_body=extra)
        # The end of text, which ends a turn too, comes back as the end of turn that the format writes there.
        served_ids = [*first.prompt_token_ids, *first.choices[0].token_ids[:-1], encoder.end_of_turn]
        assert second.prompt_token_ids[: len(served_ids)] == served_ids, answer
        plain = encoder.encode(Conversation(after, CONVERSATION.tools), generation_prompt=True).input_ids
        odd += plain != second.prompt_token_ids
    assert odd > 0  # else nothing was put to the test


def test_recall_forgets_and_does_not_mix_up(encoder: Encoder) -> None:
    recall = Recall(turns=1)
    before = Conversation([{"role": "user", "content": "x"}])
    after = Conversation([*before.messages, {"role": "assistant", "content": "ab"}])
    other = Conversation([{"role": "user", "content": "y"}, {"role": "assistant", "content": "ab"}])
    prompt = encoder.encode(before, generation_prompt=True).input_ids
    recall.remember(prompt, "ab", [7, 8, 9])
    assert encoder.encode(after, recall=recall).input_ids[len(prompt) : len(prompt) + 3] == [7, 8, 9]
    assert encoder.encode(other, recall=recall) == encoder.encode(other)
    recall.remember([1], "zz", [1])
    assert encoder.encode(after, recall=recall) == encoder.encode(after)


def test_a_taken_port_and_a_second_server(learned: Path, served: Served) -> None:
    port = int(served.base_url.split(":")[2].split("/")[0])
    with (
        pytest.raises(SetupError, match=f"port {port} of 127.0.0.1 cannot be used"),
        serving(learned, ServerConfig(names=("m",), port=port)),
    ):
        pass
    begun = time.monotonic()
    with serving(learned, ServerConfig(names=("m",), token="own", limits=Limits(most_tokens=2))) as second:
        one = OpenAI(base_url=second.base_url, api_key="own", max_retries=0)
        reply = one.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], max_tokens=50)
        assert reply.usage is not None and reply.usage.completion_tokens <= 2
    assert time.monotonic() - begun < 20


def test_stopping_does_not_wait_for_long_answers(learned: Path) -> None:
    """Those who were being answered get an error, not an answer that looks finished."""
    outcomes: list[str] = []

    def one(server: Served, stream: bool) -> None:
        try:
            reply = ask(_client(server), [{"role": "user", "content": "?"}], max_tokens=1500, stream=stream)
            outcomes.append(gather(reply)["finish"] if stream else reply.choices[0].finish_reason)
        except (openai.OpenAIError, httpx.HTTPError):
            outcomes.append("error")

    with serving(learned, ServerConfig(names=("tiny",))) as server:
        server.engine.stop_tokens.clear()
        threads = [threading.Thread(target=one, args=(server, stream)) for stream in (True, False, True)]
        for thread in threads:
            thread.start()
        _await_active(server, 3, 20)
        begun = time.monotonic()
    assert time.monotonic() - begun < 5
    for thread in threads:
        thread.join()
    assert not set(outcomes) - {"error", None}


def _client(served: Served) -> OpenAI:
    return OpenAI(base_url=served.base_url, api_key=served.token, max_retries=0, timeout=60)
