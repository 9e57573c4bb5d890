"""Where a conversation stands: the teacher's moves replayed against the results that came back.

Belongs here: reading a request, and the reactions to tool results. Does not belong here: the plan (`route.py`), the
wire format (`stream.py`).
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assets.rollouts.teacher.character import Character, Draws
from assets.rollouts.teacher.route import Move
from assets.tasks.plan import Step
from lake.ids import Json

_COMMAND_FAILED = re.compile(r"\(Command exited with code (\d+)\)\s*\Z|\bCommand timed out after ")
_LOOK = Step("exec", {"command": "pwd && ls -la && find . -type f | sort | head -n 60"}, "explore")


@dataclass(frozen=True)
class Turn:
    """One answer the teacher gave, and the results of its calls in call order."""

    results: tuple[str, ...]


def turns(messages: Sequence[Mapping[str, Json]]) -> list[Turn]:
    """The assistant's turns in a request. User messages (context, images, continuations) have no part in it."""
    found: list[list[str]] = []
    for message in messages:
        if message.get("role") == "assistant":
            found.append([])
        elif message.get("role") == "tool" and found:
            found[-1].append(content_text(message.get("content")))
    return [Turn(tuple(results)) for results in found]


def content_text(content: Json) -> str:
    """Text of a message's content, which is a string or a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def error_of(result: str) -> str | None:
    """The error a tool result reports, in one line; null when it reports none."""
    if result.startswith("{"):
        try:
            value = json.loads(result)
        except ValueError:
            value = None
        if isinstance(value, dict) and value.get("status") == "error" and "tool" in value:
            return _line(str(value.get("error", "error")))
    if result.startswith("Validation failed for tool") or re.match(r"Tool \S+ not found\Z", result):
        return _line(result)
    found = _COMMAND_FAILED.search(result)
    if found is None:
        return None
    if found.group(1) is None:
        return _line(result[found.start() :])
    # The last line of output before the exit code is mostly the complaint.
    lines = [line for line in result.splitlines() if line.strip()]
    return _line(lines[-2] if len(lines) > 1 else lines[-1])


def _line(text: str) -> str:
    first = text.strip().splitlines()[0] if text.strip() else "error"
    return first[:200]


@dataclass
class Replay:
    """The state of a teacher after some turns; `current` is what it says next."""

    character: Character
    draws: Draws
    ahead: deque[Move]
    """Moves still to come, without the current one."""
    current: Move
    _tries: int = 0
    _repaired: bool = False
    _repeated: bool = False
    _slips: int = 0
    _products: list[Move] = field(default_factory=list)

    @staticmethod
    def start(route: Sequence[Move], character: Character, draws: Draws) -> Replay:
        """Before the first answer."""
        return Replay(character, draws, deque(route[1:]), route[0])

    def observe(self, turn: Turn) -> None:
        """Take in the results of the current move and decide the next one."""
        errors = [error_of(result) for result in turn.results]
        error = next((e for e in errors if e is not None), None)
        move = self.current
        if move.produces and error is None:
            self._products.append(move)
        if move.kind == "slip":
            self._after_slip(move, error)
        elif move.kind == "check" and error is not None:
            self._after_failed_check(move, error)
        elif move.kind == "step" and error is not None:
            self._after_failed_step(move, errors, error)
        else:
            if move.kind != "look":
                self._tries = 0
            self._advance()

    def _advance(self) -> None:
        # Behind the final message there is nothing; a harness that asks again hears it again.
        self.current = self.ahead.popleft() if self.ahead else replace(self.current, kind="final", calls=())

    def _after_slip(self, move: Move, error: str | None) -> None:
        if error is None:
            self._advance()
            return
        if not self._repeated and self.draws.happens(self.character.repeats, "repeats", self._slips):
            self._repeated = True
            self.current = replace(move, say="Let me try that again.")
            return
        slip, self._slips, self._repeated = self._slips, self._slips + 1, False
        if self.draws.happens(self.character.recovers, "recovers", slip):
            self._advance()
            self.current = replace(self.current, say=move.recovery or f"That failed: {error} I take another way.")
        elif self.draws.happens(self.character.gives_up, "gives_up", slip):
            self._finish(f"I could not finish the task: {error}")
        else:  # lost: it goes on as if the step it meant had been made
            self._advance()
            if self.current.kind != "final":
                self._advance()

    def _after_failed_step(self, move: Move, errors: Sequence[str | None], error: str) -> None:
        if self._tries < self.character.patience:
            self._tries += 1
            failed = tuple(call for call, e in zip(move.calls, errors, strict=False) if e is not None)
            self.ahead.appendleft(replace(move, say="With that in view I try it again.", calls=failed or move.calls))
            self.current = Move("look", f"That did not work ({error}). I look at what is there first.", (_LOOK,))
        elif self.character.repairs:
            self._finish(f"I stop here, because a step keeps failing: {error} The result is not complete.")
        else:
            self._tries = 0
            self._advance()

    def _after_failed_check(self, move: Move, error: str) -> None:
        if not self.character.repairs:
            self._advance()
        elif self._repaired or not self._products:
            self._finish(f"My own check still fails: {error} The result is not right and needs a second look.")
        else:
            self._repaired = True
            again = [replace(m, say="") for m in self._products]
            self.ahead.extendleft(reversed([*again[1:], replace(move, say="I check it once more.")]))
            self.current = replace(again[0], say=f"The check failed: {error} I make the product again.")

    def _finish(self, say: str) -> None:
        self.ahead.clear()
        self.current = Move("final", say)
