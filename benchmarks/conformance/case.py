"""A case: the files of one defect and what a right reader makes of them, in words that name no reader's format.

A view is a list of events, one a line of text: `user: …`, `summary: …`, `say: …`, `call 0 exec {…}`, `result 0: …`;
calls are numbered in their order, so ids that a reader renames do not matter. Does not belong here: the cases
themselves, running anybody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import msgspec

from benchmarks.conformance.session import Session
from lake.ids import Json

View = Sequence[str]
_IMAGE: Final = re.compile(r"\[image[^\]]*\]")
OWN: Final = "-"
"""Of a case that is not in the collection."""
_DAY_MINUTES: Final = 24 * 60


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What is right for one case."""

    files: Mapping[str, bytes]
    """Name to content; the first is the transcript that `stated` and `ledger` are about."""
    views: Sequence[View]
    """The clean views: the trajectory on which the session ended first, then the others."""
    messages: Sequence[View] | None = None
    """What may be learned from, where that is less than the views: turns not trained on begin with `context`."""
    classes: Sequence[str] = ("normal",)
    """Of each view."""
    stated: Sequence[tuple[int, str]] = ()
    """Every finding of ours as (line, rule); nothing more may be stated."""
    ledger: Mapping[str, int] = field(default_factory=dict)
    """Where every record of the transcript went: `disposition:what` to records."""
    tell: Sequence[int] = ()
    """Lines on which anybody must say what was done; empty where there is nothing to tell."""
    accepted: Sequence[Sequence[View]] = ()
    """Other views that are as right, by a reader of another design."""
    tokens: Sequence[tuple[int, int] | None] | None = None
    """Prompt (cached tokens included) and completion tokens of each answer; null where they are unknown."""
    models: Sequence[str] | None = None
    """The model of each answer."""
    failed: Sequence[bool] | None = None
    """Of each tool result, whether the call failed."""


Build = Callable[[Session], Expected]


@dataclass(frozen=True)
class Case:
    """One defect."""

    name: str
    of: str
    """C01 … C26 of the collection of public reports, or `OWN`."""
    topic: str
    build: Build
    number: int
    """From 0; its session begins on that day, so that no two cases look like copies of each other."""

    @cached_property
    def expected(self) -> Expected:
        """Files and what is right, made when they are first asked for."""
        return self.build(Session(f"conformance-{self.name}", minute=self.number * _DAY_MINUTES))


@dataclass(kw_only=True)
class Outcome:
    """What a reader made of a case."""

    views: list[list[str]] = field(default_factory=list)
    stated: list[tuple[int | None, str]] = field(default_factory=list)
    """Line, where it names one, and its word for it."""
    error: str | None = None
    """It raised: the session is lost."""
    tokens: list[tuple[int, int] | None] | None = None
    models: list[str] | None = None
    failed: list[bool] | None = None


CASES: Final[list[Case]] = []
"""Every case, filled as `cases` is imported."""


def case(of: str, topic: str) -> Callable[[Build], Build]:
    """Register a case under the name of the function that makes it."""

    def register(build: Build) -> Build:
        CASES.append(Case(build.__name__.replace("_", "-"), of, topic, build, len(CASES)))
        return build

    return register


def one_file(session: Session) -> dict[str, bytes]:
    """The session as the only file of its case."""
    return {f"{session.session_id}.jsonl": session.data()}


def lines_file(session: Session, lines: Sequence[bytes], *, end: bytes = b"\n") -> dict[str, bytes]:
    """These lines as the only file of the session's case."""
    return {f"{session.session_id}.jsonl": b"".join(line + b"\n" for line in lines[:-1]) + lines[-1] + end}


def call_event(number: int, name: str, arguments: Json) -> str:
    """The event of a tool call; arguments are an object or JSON text of one."""
    if isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments)
        except (ValueError, RecursionError):
            return f"call {number} {name} {arguments}"
    return f"call {number} {name} {msgspec.json.encode(arguments, order='sorted').decode()}"


def text_event(kind: str, text: str) -> str:
    """The event of a text; what stands for an image is `[image]`, however a reader words it."""
    return f"{kind}: {_IMAGE.sub('[image]', text)}"
