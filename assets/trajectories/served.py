"""The calls of one attempt as the proxy recorded them: requests byte for byte, their prefix tree, what each made.

Messages that stand in many requests are read once. A call's context is its request without the transient suffix; its
parent is the call with which it shares most of it. Does not belong here: the transcript; joining the two (`join`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec

from assets.logs.decode import decode
from assets.logs.timestamps import parse_time
from assets.rollouts.proxy.record import Call, Decoder
from assets.trajectories.completion import Completion, read_completion
from assets.trajectories.entries import Row
from assets.trajectories.findings import Findings, Place
from assets.trajectories.normal import Normal, normal, text_of
from assets.trajectories.rules import records
from assets.trajectories.rules import served as rules
from assets.trajectories.wording import is_transient
from lake.errors import SourceError
from lake.ids import Json

_SUMMARISER: Final = "context summarization assistant"


class _Request(msgspec.Struct):
    messages: list[msgspec.Raw]
    tools: Any = None
    model: Any = None


_requests: Final = msgspec.json.Decoder(_Request)
_any: Final = msgspec.json.Decoder()


@dataclass(slots=True)
class Message:
    """A message served, once however often it was."""

    value: Json
    role: str
    normal: Normal | None
    """What is compared; null for what has no counterpart in a transcript (images served as messages)."""
    transient: bool


@dataclass(slots=True)
class ServedCall:
    """One upstream try."""

    number: int
    """From 0 in the order of the log."""
    at: Place
    record_id: str
    retry: int
    status: int | None
    delivered: bool
    error: str | None
    started_at: datetime | None
    messages: list[int]
    """Numbers of its messages in `Served.messages`; empty when the request is none."""
    tools: Json
    completion: Completion | None
    response_id: str | None
    finish_reason: str | None
    usage: Mapping[str, Json] | None
    stable: int = 0
    """Messages before the transient suffix."""
    kind: str = "main"
    parent: int | None = None
    shared: int | None = None

    @property
    def good(self) -> bool:
        """Whether it brought an answer to its end."""
        return self.status == 200 and self.completion is not None and self.error is None


@dataclass
class Served:
    """Everything the proxy recorded of an attempt."""

    findings: Findings
    calls: list[ServedCall] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    @property
    def main(self) -> ServedCall | None:
        """The first call of the main conversation."""
        return next((call for call in self.calls if call.kind == "main" and call.messages), None)

    def system(self) -> str | None:
        """The system prompt of the main conversation."""
        first = self.main
        if first is None or self.messages[first.messages[0]].role not in ("system", "developer"):
            return None
        return text_of(self.messages[first.messages[0]].value)

    def tools(self) -> Json:
        """The tool schemas of the main conversation; null when none were served."""
        first = self.main
        return None if first is None else first.tools


def read_served(rows: list[Row]) -> Served:
    """Read the proxy's records of one attempt, in order."""
    served = Served(Findings())
    decoder = Decoder()
    known: dict[bytes, int] = {}
    for line, row in enumerate(rows, 1):
        place = Place(row.position, line, row.key)
        record = decode(row.raw, first=line == 1) if row.raw is not None else None
        if record is None or record.value is None:
            status = "oversized" if record is None else record.status
            rule = records.UNREADABLE[status]
            if status == "blank":
                served.findings.drop(place, rule)
            else:
                served.findings.quarantine(place, rule)
            continue
        try:
            call = decoder.decode(record.value)
        except (SourceError, KeyError, TypeError, ValueError) as error:
            served.findings.quarantine(place, rules.BAD_CALL_RECORD, f"{type(error).__name__}: {error}"[:200])
            continue
        served.findings.keep(place, "call")
        served.calls.append(_call(served, known, place, call))
    _find_suffixes(served)
    _find_kinds(served)
    _find_parents(served)
    return served


def _call(served: Served, known: dict[bytes, int], place: Place, call: Call) -> ServedCall:
    try:
        request = _requests.decode(call.request)
        numbers = [_intern(served, known, bytes(raw)) for raw in request.messages]
        tools = request.tools
    except (ValueError, RecursionError) as error:
        served.findings.add(place, rules.BAD_REQUEST, str(error)[:160])
        numbers, tools = [], None
    completion = read_completion(call.response) if call.status == 200 else None
    return ServedCall(
        number=len(served.calls),
        at=place,
        record_id=call.record_id,
        retry=call.retry,
        status=call.status,
        delivered=call.delivered,
        error=call.error,
        started_at=parse_time(call.started_at),
        messages=numbers,
        tools=tools,
        completion=completion,
        response_id=call.response_id or (completion.response_id if completion else None),
        finish_reason=call.finish_reason or (completion.finish_reason if completion else None),
        usage=call.usage,
        stable=len(numbers),
    )


def _intern(served: Served, known: dict[bytes, int], raw: bytes) -> int:
    number = known.get(raw)
    if number is None:
        value = _any.decode(raw)
        value = value if isinstance(value, dict) else {"role": "unknown", "content": value}
        role = str(value.get("role"))
        transient = role == "user" and is_transient(text_of(value))
        number = known[raw] = len(served.messages)
        served.messages.append(Message(value, role, normal(value), transient))
    return number


def _find_suffixes(served: Served) -> None:
    """Internal-context messages at the end of a request: by position and marker."""
    for call in served.calls:
        while call.stable and served.messages[call.messages[call.stable - 1]].transient:
            call.stable -= 1
        if call.stable < len(call.messages):
            count = len(call.messages) - call.stable
            served.findings.add(call.at, rules.TRANSIENT_SUFFIX, f"{count} message{'s' if count > 1 else ''}")


def _find_kinds(served: Served) -> None:
    first = next((call for call in served.calls if call.messages and call.tools), None)
    first = first or next((call for call in served.calls if call.messages), None)
    seen: set[tuple[int, ...]] = set()
    for call in served.calls:
        if not call.messages:
            call.kind = "side"
            continue
        head = served.messages[call.messages[0]]
        user = next((served.messages[n] for n in call.messages if served.messages[n].role == "user"), None)
        context = tuple(call.messages[: call.stable])
        if _SUMMARISER in text_of(head.value):
            call.kind = "compaction"
        elif user is not None and text_of(user.value).lstrip().startswith("[Subagent Context]"):
            call.kind = "subagent"
        elif first is not None and call.messages[0] != first.messages[0] and not _same_start(served, call, first):
            call.kind = "side"
        elif call.retry > 0 or context in seen:
            call.kind = "retry"
        seen.add(context)


def _same_start(served: Served, call: ServedCall, first: ServedCall) -> bool:
    """Whether two calls begin with the same first words, though the system prompt changed (its date does)."""
    return [n for n in call.messages if served.messages[n].role == "user"][:1] == [
        n for n in first.messages if served.messages[n].role == "user"
    ][:1]


def _find_parents(served: Served) -> None:
    """The prefix tree over contexts: each call's parent is the latest call that shares most of its context."""
    nodes: dict[tuple[int, int], int] = {}
    latest: dict[int, int] = {}
    for call in served.calls:
        node, depth, walked = 0, 0, []
        for number in call.messages[: call.stable]:
            following = nodes.get((node, number))
            if following is None:
                break
            node, depth = following, depth + 1
        if depth:
            call.parent, call.shared = latest[node], depth
        node = 0
        for number in call.messages[: call.stable]:
            node = nodes.setdefault((node, number), len(nodes) + 1)
            walked.append(node)
        for node in walked:
            latest[node] = call.number
