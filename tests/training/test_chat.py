"""The chat format: equal to the template, never rewriting what was said, and invertible."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from lake.ids import Json
from tests.training.conversations import TOOLS, corpus, expense_report
from training.chat import Conversation, assistant_text, normalise, render
from training.turns import TurnStream, parse

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<"), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
CALLS = st.lists(st.tuples(WORDS.filter(bool), st.dictionaries(WORDS, VALUES, max_size=3)), max_size=3)


def text_of(conversation: Conversation, *, prompt: bool = False) -> str:
    return "".join(piece.text for piece in render(conversation, generation_prompt=prompt))


@st.composite
def assistants(draw: st.DrawFn) -> Json:
    message: Json = {"role": "assistant", "content": draw(WORDS)}
    if reasoning := draw(WORDS):
        message["reasoning_content"] = reasoning
    if calls := draw(CALLS):
        message["tool_calls"] = [
            {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for i, (name, arguments) in enumerate(calls)
        ]
    return message


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    messages: list[Json] = []
    if draw(st.booleans()):
        messages.append({"role": draw(st.sampled_from(["system", "developer"])), "content": draw(WORDS)})
    messages.append({"role": "user", "content": draw(WORDS)})
    for _ in range(draw(st.integers(0, 3))):
        message = draw(assistants())
        messages.append(message)
        results = [
            {"role": "tool", "tool_call_id": c["id"], "content": draw(WORDS)} for c in message.get("tool_calls", [])
        ]
        messages += results or [{"role": "user", "content": draw(WORDS)}]
    return Conversation(messages, TOOLS[: draw(st.integers(0, 2))])


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(conversations(), st.booleans())
def test_equal_to_the_template(tokenizer: PreTrainedTokenizerFast, conversation: Conversation, prompt: bool) -> None:
    rendered = tokenizer.apply_chat_template(
        [normalise(message) for message in conversation.messages],
        tools=[dict(tool) for tool in conversation.tools] or None,
        tokenize=False,
        add_generation_prompt=prompt,
    )
    assert text_of(conversation, prompt=prompt) == rendered


@settings(max_examples=80, deadline=None)
@given(conversations())
def test_each_request_begins_with_the_one_before(conversation: Conversation) -> None:
    whole = text_of(conversation)
    for index, message in enumerate(conversation.messages):
        if message["role"] == "assistant":
            head = Conversation(conversation.messages[:index], conversation.tools)
            answered = Conversation(conversation.messages[: index + 1], conversation.tools)
            assert text_of(answered).startswith(text_of(head, prompt=True))
            assert whole.startswith(text_of(answered))


@settings(max_examples=200, deadline=None)
@given(assistants())
def test_a_turn_parses_back(message: Json) -> None:
    wanted = normalise(message)
    turn = parse(assistant_text(wanted))
    assert turn.content == wanted["content"]
    assert turn.reasoning == wanted.get("reasoning_content", "")
    calls = [call["function"] for call in wanted.get("tool_calls", [])]
    assert [{"name": call.name, "arguments": call.arguments} for call in turn.calls] == calls
    assert turn.malformed == 0


def test_equal_to_trl_for_qwen3_where_both_must_agree(tokenizer: PreTrainedTokenizerFast) -> None:
    """TRL's training template adds an empty thinking block where there is no thinking; else the text is the same."""
    from trl import chat_template_utils

    template = (chat_template_utils._CHAT_TEMPLATES_DIR / "qwen3_training.jinja").read_text()
    for conversation in corpus(3):
        theirs: Json = tokenizer.apply_chat_template(
            [normalise(message) for message in conversation.messages],
            tools=[dict(tool) for tool in conversation.tools],
            tokenize=False,
            chat_template=template,
        )
        assert theirs.replace("<think>\n\n</think>\n\n", "") == text_of(conversation)


def test_thinking_of_earlier_turns_stays() -> None:
    assert "<think>\nThe table first.\nThen the sum.\n</think>\n\n<tool_call>" in text_of(
        expense_report(3, reasoning=True)
    )


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>\n{not json}\n</tool_call>",
        '<tool_call>\n{"name": "read"}\n</tool_call>',
        '<tool_call>\n{"name": "read", "arguments": "x"}\n</tool_call>',
        '<tool_call>\n{"name": "", "arguments": {}}\n</tool_call>',
        '<tool_call>\n{"name": "read", "arguments": {"x": NaN}}\n</tool_call>',
        "<tool_call>\n[" * 20_000,
        '<tool_call>\n{"name": "read", "arguments": {}}',
        "<tool_call>\n[]\n</tool_call> and after",
    ],
)
def test_malformed_calls_stay_text(text: str) -> None:
    turn = parse("before\n" + text)
    assert turn.content == "before\n" + text
    assert turn.calls == () and turn.malformed >= 1


def test_a_good_call_after_a_bad_one() -> None:
    turn = parse('a<tool_call>x</tool_call>\n<tool_call>\n{"name": "read", "arguments": {"path": "p"}}\n</tool_call>b')
    assert [call.arguments_json for call in turn.calls] == ['{"path": "p"}']
    assert turn.content == "a<tool_call>x</tool_call>b"
    assert (turn.malformed, turn.tried) == (1, 2)


def test_lone_surrogates_and_parts() -> None:
    parts = [{"type": "text", "text": "a\ud800b"}, {"type": "image_url", "image_url": {}}]
    assert normalise({"role": "user", "content": parts})["content"] == "a\ufffdb\n[image_url]"


def test_thinking_that_never_ends_is_thinking() -> None:
    turn = parse("<think>\nand then <tool_call>x</tool_call>")
    assert (turn.reasoning, turn.content, turn.tried) == ("and then <tool_call>x</tool_call>", "", 0)
    assert parse("<think>\n\n</think>\n\nhi") == parse("hi")


PARTS = st.sampled_from(
    [
        "<think>\n",
        "\n</think>\n\n",
        "<tool_call>",
        "\n",
        '{"name": "r", "arguments": {}}',
        "</tool_call>",
        "<",
        "a",
        " ",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PARTS, max_size=12).map("".join), st.data())
def test_where_the_pieces_are_cut_does_not_matter(text: str, data: st.DataObject) -> None:
    stream = TurnStream()
    deltas = []
    rest = text
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        deltas += stream.feed(rest[:cut])
        rest = rest[cut:]
    deltas += stream.finish()
    whole = parse(text)
    assert "".join(d.text for d in deltas if d.kind == "content") == whole.content
    assert "".join(d.text for d in deltas if d.kind == "reasoning") == whole.reasoning
    assert tuple(d.call for d in deltas if d.call) == whole.calls and stream.tried == whole.tried
    for letter in "a<":
        assert whole.content.count(letter) + whole.reasoning.count(letter) <= text.count(letter)
    if not whole.calls and not whole.reasoning and not text.startswith("<think>\n"):
        assert whole.content == text
