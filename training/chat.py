"""The chat format: messages and tools to marked text.

Belongs here: the Qwen3-style format as plain functions, linear in the length of the conversation. Does not belong here:
its inverse (`turns.py`), token ids (`tokenise.py`). `chat_template.jinja` is the same format for other tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lake.ids import Json
from training.turns import CALL, CALL_END, THINK, THINK_END, dump, load

END_OF_TURN: Final = "<|im_end|>"
START_OF_TURN: Final = "<|im_start|>"
END_OF_TEXT: Final = "<|endoftext|>"
CONTROL: Final = (END_OF_TEXT, START_OF_TURN, END_OF_TURN)
"""Tokens only the format itself may write; the same characters inside a message stay characters."""
MARKS: Final = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
"""Tokens of their own that may also come from the model."""

TEMPLATE_PATH: Final = Path(__file__).with_name("chat_template.jinja")

_TOOLS_HEAD = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_TAIL = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    '<tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n'
    "</tool_call>"
)


@dataclass(frozen=True)
class Conversation:
    """What one training row or one request is made of."""

    messages: Sequence[Mapping[str, Json]]
    """OpenAI chat messages."""
    tools: Sequence[Mapping[str, Json]] = ()
    """OpenAI tool schemas, in the order they were served."""


@dataclass(frozen=True)
class Piece:
    """A stretch of the rendered conversation."""

    text: str
    control: bool = False
    """Whether it is one of `CONTROL`, to be encoded as that token."""
    trained: bool = False
    """Whether the model generates it."""


def clean(text: str) -> str:
    """Text with lone surrogates (which no tokenizer accepts) replaced by U+FFFD; other text is unchanged."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def normalise(message: Mapping[str, Json]) -> dict[str, Json]:
    """A message as the format sees it: content as text, role without aliases, arguments as objects where they parse."""
    role = str(message.get("role", ""))
    out: dict[str, Json] = {
        "role": "system" if role == "developer" else role,
        "content": clean(_text_of(message.get("content"))),
    }
    if role != "assistant":
        return out
    if message.get("weight") == 0:
        out["weight"] = 0
    reasoning = message.get("reasoning_content")
    if isinstance(reasoning, str) and reasoning:
        out["reasoning_content"] = clean(reasoning)
    if calls := message.get("tool_calls"):
        out["tool_calls"] = [
            {
                "type": "function",
                "function": {
                    "name": clean(str(call["function"]["name"])),
                    "arguments": _arguments(call["function"].get("arguments")),
                },
            }
            for call in calls
        ]
    return out


def is_trained(message: Mapping[str, Json]) -> bool:
    """Whether the loss is on a message: an assistant's, unless its `weight` is 0 (it is only context there)."""
    return message.get("role") == "assistant" and message.get("weight") != 0


def assistant_text(message: Mapping[str, Json]) -> str:
    """What the model generates for a (normalised) assistant message, without the end-of-turn token."""
    parts: list[str] = []
    if message.get("reasoning_content"):
        parts += (THINK, message["reasoning_content"], THINK_END)
    parts.append(message["content"])
    for index, call in enumerate(message.get("tool_calls") or ()):
        if message["content"] or index:
            parts.append("\n")
        function = call["function"]
        arguments = function["arguments"] if isinstance(function["arguments"], str) else dump(function["arguments"])
        parts += (CALL, '\n{"name": ', dump(function["name"]), ', "arguments": ', arguments, "}\n", CALL_END)
    return "".join(parts)


def render(conversation: Conversation, *, generation_prompt: bool = False) -> list[Piece]:
    """The conversation as pieces, each visited once.

    Args:
        conversation: messages and tools.
        generation_prompt: whether to end with the opening of an assistant turn.
    """
    messages = [normalise(message) for message in conversation.messages]
    pieces: list[Piece] = []
    opening = bool(messages) and messages[0]["role"] == "system"
    head = messages[0]["content"] if opening else ""
    if conversation.tools:
        tools = "".join("\n" + dump(tool) for tool in conversation.tools)
        head = (head + "\n\n" if opening else "") + _TOOLS_HEAD + clean(tools) + _TOOLS_TAIL
    if opening or conversation.tools:
        pieces += _turn("system", head)
    rest = messages[1:] if opening else messages
    for index, message in enumerate(rest):
        if message["role"] == "assistant":
            pieces += (Piece(START_OF_TURN, control=True), Piece("assistant\n"))
            trained = is_trained(message)
            pieces += (Piece(assistant_text(message), trained=trained),)
            pieces += (Piece(END_OF_TURN, control=True, trained=trained),)
            pieces.append(Piece("\n"))
        elif message["role"] == "tool":
            text = f"\n<tool_response>\n{message['content']}\n</tool_response>"
            first = index == 0 or rest[index - 1]["role"] != "tool"
            last = index == len(rest) - 1 or rest[index + 1]["role"] != "tool"
            pieces += (Piece(START_OF_TURN, control=True), Piece("user" + text)) if first else (Piece(text),)
            pieces += (Piece(END_OF_TURN, control=True), Piece("\n")) if last else ()
        else:
            pieces += _turn(message["role"], message["content"])
    if generation_prompt:
        pieces += (Piece(START_OF_TURN, control=True), Piece("assistant\n"))
    return pieces


def _turn(role: str, text: str) -> tuple[Piece, ...]:
    start, end = Piece(START_OF_TURN, control=True), Piece(END_OF_TURN, control=True)
    return start, Piece(f"{role}\n{text}"), end, Piece("\n")


def _text_of(content: Json) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = (part if isinstance(part, str) else part.get("text", f"[{part.get('type', 'part')}]") for part in content)
    return "\n".join(parts)


def _arguments(value: Json) -> Json:
    """Arguments as an object; text that is no JSON object stays as it is (and then does not parse back)."""
    if not isinstance(value, str):
        return value if value is not None else {}
    try:
        parsed = load(value)
    except ValueError:
        return clean(value)
    return parsed if isinstance(parsed, dict) else clean(value)
