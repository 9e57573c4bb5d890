"""One chat completion: the prompt's ids, then parts of an answer as tokens arrive.

Belongs here: putting engine, text and turns together. Does not belong here: HTTP, JSON of the wire (`protocol.py`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Literal

from lake.ids import Json
from training.chat import assistant_text, normalise
from training.server.engine import Engine, Generation, Step
from training.server.protocol import ChatRequest, RequestError
from training.server.recall import Recall
from training.server.words import TextStream, TokenBytes
from training.turns import Call, Delta, TurnStream

Finish = Literal["stop", "length", "tool_calls", "cancelled"]


@dataclass(frozen=True)
class Part:
    """What one token made certain."""

    step: Step | None
    """None for what only the end makes certain."""
    deltas: tuple[Delta, ...] = ()


@dataclass
class Answer:
    """What an answer has come to."""

    reasoning: str = ""
    content: str = ""
    calls: list[tuple[str, Call]] = field(default_factory=list)
    """Call ids and calls."""

    def add(self, delta: Delta) -> str | None:
        """Take a delta; returns the id given to the call it is, if it is one."""
        if delta.call is not None:
            self.calls.append((f"call_{secrets.token_hex(12)}", delta.call))
            return self.calls[-1][0]
        if delta.kind == "reasoning":
            self.reasoning += delta.text
        else:
            self.content += delta.text
        return None

    def message(self) -> dict[str, Json]:
        """As an OpenAI message."""
        message: dict[str, Json] = {"role": "assistant", "content": self.content or (None if self.calls else "")}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.calls:
            message["tool_calls"] = [call_body(call_id, call) for call_id, call in self.calls]
        return message


def call_body(call_id: str, call: Call) -> dict[str, Json]:
    """A tool call as an OpenAI message holds it."""
    function = {"name": call.name, "arguments": call.arguments_json}
    return {"id": call_id, "type": "function", "function": function}


class Completion:
    """A request being answered. Iterate over it once, in one thread."""

    def __init__(
        self,
        engine: Engine,
        words: TokenBytes,
        recall: Recall,
        request: ChatRequest,
        *,
        most_tokens: int,
        cancelled: Callable[[], bool],
    ) -> None:
        """Encode the prompt.

        Raises:
            RequestError: the prompt leaves no room for an answer.
        """
        self.request, self._engine, self._words, self._recall = request, engine, words, recall
        row = engine.encoder.encode(request.conversation, generation_prompt=True, recall=recall)
        self.prompt = row.input_ids
        room = engine.max_positions - len(self.prompt)
        if room < 1:
            raise RequestError(
                f"This model's maximum context length is {engine.max_positions} tokens. However, your messages "
                f"resulted in {len(self.prompt)} tokens. Please reduce the length of the messages.",
                param="messages",
                code="context_length_exceeded",
            )
        limit = min(room, most_tokens, request.max_tokens or room)
        self.generation = Generation(self.prompt, limit, request.sampling, cancelled)
        self.answer = Answer()
        self.finish: Finish | None = None

    def __iter__(self) -> Iterator[Part]:
        """Generate; each part is one token, then perhaps one with what the end made certain."""
        text, turn = TextStream(self.request.stops), TurnStream()
        with closing(self._engine.generate(self.generation)) as steps:
            for step in steps:
                data = b"" if step.token in self._engine.stop_tokens else self._words.of(step.token)
                yield Part(step, tuple(turn.feed(text.feed(data))))
                if text.stopped:
                    break
        last = [*turn.feed(text.feed(b"", final=True)), *turn.finish()]
        self.finish = "stop" if text.stopped else self.generation.ended
        yield Part(None, tuple(last))

    def close(self) -> None:
        """Settle the finish reason and remember the turn, once all parts were added to the answer."""
        if self.finish != "stop":
            return
        if self.answer.calls:
            self.finish = "tool_calls"
        if self.generation.ended == "stop":
            text = assistant_text(normalise(self.answer.message()))
            self._recall.remember(self.prompt, text, self.generation.tokens[:-1])
