"""The model's text back to reasoning, content and tool calls, as it arrives or all at once.

Belongs here: the grammar of an assistant turn, the inverse of `chat.assistant_text`. Does not belong here: rendering.

A tool call counts as one when it is closed, is a JSON object, and names a function with an object of arguments.
Everything else stays text, so nothing the model wrote is lost. Thinking that is never closed is thinking to the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from lake.ids import Json

THINK: Final = "<think>\n"
THINK_END: Final = "\n</think>\n\n"
CALL: Final = "<tool_call>"
CALL_END: Final = "</tool_call>"


def dump(value: Json) -> str:
    """JSON as the format writes it: insertion order, `, ` and `: `, no escapes for non-ASCII, no NaN.

    Raises:
        ValueError: the value holds NaN or an infinity.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def load(text: str) -> Json:
    """JSON text by the letter of the standard: no NaN, no infinities.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    try:
        return json.loads(text, parse_constant=_no_constants)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


@dataclass(frozen=True)
class Call:
    """A tool call as the model wrote it."""

    name: str
    arguments: dict[str, Json]

    @property
    def arguments_json(self) -> str:
        """The arguments as JSON text, spaced as in the format."""
        return dump(self.arguments)


@dataclass(frozen=True)
class Turn:
    """An assistant turn, parsed."""

    reasoning: str = ""
    content: str = ""
    calls: tuple[Call, ...] = ()
    tried: int = 0
    """Attempts at a tool call, well formed or not."""

    @property
    def malformed(self) -> int:
        """Attempts at a tool call that are not one; their text is in `content`."""
        return self.tried - len(self.calls)


@dataclass(frozen=True)
class Delta:
    """What became certain: some reasoning, some content, or one whole call."""

    kind: Literal["reasoning", "content", "call"]
    text: str = ""
    call: Call | None = None


class TurnStream:
    """Parses a turn piece by piece. What it says does not depend on where the pieces are cut."""

    def __init__(self) -> None:
        self.tried = 0
        self._state: Literal["start", "reasoning", "text", "call"] = "start"
        self._waiting = ""

    def feed(self, text: str) -> list[Delta]:
        """Take some text; returns what became certain by it."""
        self._waiting += text
        return [delta for delta in self._advance() if delta.text or delta.call]

    def finish(self) -> list[Delta]:
        """The end of the turn; returns the rest."""
        rest, self._waiting = self._waiting, ""
        kind: Literal["reasoning", "content"] = "reasoning" if self._state == "reasoning" else "content"
        return [Delta(kind, rest)] if rest else []

    def _advance(self) -> Iterator[Delta]:
        while True:
            before = (self._state, len(self._waiting))
            yield from getattr(self, f"_{self._state}")()
            if (self._state, len(self._waiting)) == before:
                return

    def _start(self) -> Iterator[Delta]:
        if self._waiting.startswith(THINK):
            self._waiting, self._state = self._waiting[len(THINK) :], "reasoning"
        elif self._waiting and not THINK.startswith(self._waiting):
            self._state = "text"
        yield from ()

    def _reasoning(self) -> Iterator[Delta]:
        end = self._waiting.find(THINK_END)
        if end >= 0:
            yield Delta("reasoning", self._take(end))
            self._waiting, self._state = self._waiting[len(THINK_END) :], "text"
        else:
            yield Delta("reasoning", self._take(len(self._waiting) - held(self._waiting, THINK_END)))

    def _text(self) -> Iterator[Delta]:
        start = self._waiting.find(CALL)
        if start >= 0:
            newline = start > 0 and self._waiting[start - 1] == "\n"  # belongs to the call, if it is one
            yield Delta("content", self._take(start - newline))
            self._state = "call"
            self.tried += 1
        else:
            keep = max(held(self._waiting, CALL), held(self._waiting, "\n" + CALL))
            yield Delta("content", self._take(len(self._waiting) - keep))

    def _call(self) -> Iterator[Delta]:
        end = self._waiting.find(CALL_END)
        if end < 0:
            return
        text = self._take(end + len(CALL_END))
        call = parse_call(text[text.index(CALL) + len(CALL) : -len(CALL_END)])
        yield Delta("call", call=call) if call else Delta("content", text)
        self._state = "text"

    def _take(self, length: int) -> str:
        taken, self._waiting = self._waiting[:length], self._waiting[length:]
        return taken


def held(text: str, mark: str) -> int:
    """Length of the longest end of `text` that `mark` begins with: it may still become the mark."""
    return next((n for n in range(min(len(text), len(mark) - 1), 0, -1) if text.endswith(mark[:n])), 0)


def parse(text: str) -> Turn:
    """A whole turn."""
    stream = TurnStream()
    deltas = [*stream.feed(text), *stream.finish()]
    return Turn(
        reasoning="".join(delta.text for delta in deltas if delta.kind == "reasoning"),
        content="".join(delta.text for delta in deltas if delta.kind == "content"),
        calls=tuple(delta.call for delta in deltas if delta.call),
        tried=stream.tried,
    )


def parse_call(text: str) -> Call | None:
    """The call between the marks, or None when it is malformed."""
    try:
        value = load(text)
    except ValueError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        return None
    arguments = value.get("arguments")
    return Call(value["name"], arguments) if isinstance(arguments, dict) else None


def _no_constants(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")
