"""The proxy's record of one upstream try, and its compressed form in `proxy.jsonl`.

A request repeats the whole conversation, so it is stored as what it does not share with an earlier request of the same
attempt: `prefix_of` (that record's id), `shared` leading and `tail` trailing bytes, and the text between them. It is
rebuilt byte for byte and proved by sha256. Does not belong here: serving; what the bytes mean beyond `Seen`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

from lake.errors import SourceError
from lake.ids import Json, sha256_hex

RECORD_TYPE = "proxy.call"
FORMAT = 1


@dataclass(frozen=True)
class Call:
    """One upstream try, as it happened."""

    record_id: str
    """`<attempt_id>/<call>.<try>`"""
    attempt_id: str
    call: int
    """Which request of the agent, from 0."""
    retry: int
    """Which try of that request, from 0."""
    policy: str
    upstream: str
    """Where it was sent: `scripted:strong@1`, or scheme, host and path of an endpoint. Never a key."""
    request: bytes
    """Body as the agent sent it."""
    added: Mapping[str, Json] = field(default_factory=dict)
    """Fields added to the body on the way up."""
    status: int | None = None
    """HTTP status; null when there was no answer."""
    content_type: str | None = None
    response: bytes = b""
    """Body as the upstream sent it (server-sent events, or JSON), before `stripped` fields were taken out."""
    error: str | None = None
    """What went wrong, in one line."""
    started_at: str = ""
    """UTC, ISO 8601."""
    first_byte_s: float | None = None
    duration_s: float = 0.0
    delivered: bool = False
    """Whether the whole answer was passed on to the agent."""
    response_id: str | None = None
    """Id of the completion; the transcript's `responseId`."""
    usage: Mapping[str, Json] | None = None
    finish_reason: str | None = None


def text_or_base64(data: bytes) -> dict[str, Json]:
    """Bytes as JSON: UTF-8 text where that is exact, else base64."""
    try:
        return {"encoding": "utf-8", "text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"encoding": "base64", "text": base64.b64encode(data).decode("ascii")}


def bytes_of(value: Mapping[str, Json]) -> bytes:
    """Back from `text_or_base64`."""
    text = str(value["text"])
    return base64.b64decode(text) if value["encoding"] == "base64" else text.encode("utf-8")


def shared_ends(base: bytes, data: bytes) -> tuple[int, int]:
    """Lengths of the common prefix and of the common suffix behind it, both on UTF-8 boundaries of `data`."""
    limit = min(len(base), len(data))
    low, high = 0, limit
    while low < high:  # the longest common prefix by bisection: slices compare at memory speed
        middle = (low + high + 1) // 2
        if base[:middle] == data[:middle]:
            low = middle
        else:
            high = middle - 1
    head = low
    while 0 < head < len(data) and data[head] & 0xC0 == 0x80:
        head -= 1
    low, high = 0, limit - head
    while low < high:
        middle = (low + high + 1) // 2
        if base[len(base) - middle :] == data[len(data) - middle :]:
            low = middle
        else:
            high = middle - 1
    tail = low
    while tail > 0 and data[len(data) - tail] & 0xC0 == 0x80:
        tail -= 1
    return head, tail


class Encoder:
    """Turns the calls of one attempt, in order, into records."""

    def __init__(self) -> None:
        self._last: tuple[str, bytes] | None = None

    def encode(self, call: Call) -> dict[str, Json]:
        """The JSON record of a call."""
        base_id, base = self._last or (None, b"")
        head, tail = shared_ends(base, call.request)
        self._last = (call.record_id, call.request)
        return {
            "type": RECORD_TYPE,
            "format": FORMAT,
            "record_id": call.record_id,
            "attempt_id": call.attempt_id,
            "call": call.call,
            "retry": call.retry,
            "policy": call.policy,
            "upstream": call.upstream,
            "started_at": call.started_at,
            "first_byte_s": call.first_byte_s,
            "duration_s": call.duration_s,
            "request": {
                "prefix_of": base_id if head or tail else None,
                "shared": head,
                "tail": tail,
                "suffix": text_or_base64(call.request[head : len(call.request) - tail]),
                "size": len(call.request),
                "sha256": sha256_hex(call.request),
                "added": dict(call.added),
            },
            "status": call.status,
            "response": {
                "content_type": call.content_type,
                "body": text_or_base64(call.response),
                "size": len(call.response),
                "sha256": sha256_hex(call.response),
            },
            "response_id": call.response_id,
            "usage": None if call.usage is None else dict(call.usage),
            "finish_reason": call.finish_reason,
            "delivered": call.delivered,
            "error": call.error,
        }


class Decoder:
    """Rebuilds the calls of one or more attempts from their records, in the order they were written."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, bytes]] = {}

    def decode(self, record: Mapping[str, Json]) -> Call:
        """The call of a record.

        Raises:
            SourceError: the record builds on one that was not seen just before, or its bytes do not have its sha256.
        """
        record_id, attempt_id = str(record["record_id"]), str(record["attempt_id"])
        request = self._request(record_id, attempt_id, record["request"])
        self._last[attempt_id] = (record_id, request)
        response = bytes_of(record["response"]["body"])
        _prove(record_id, "response", response, record["response"]["sha256"])
        return Call(
            record_id=record_id,
            attempt_id=attempt_id,
            call=int(record["call"]),
            retry=int(record["retry"]),
            policy=str(record["policy"]),
            upstream=str(record["upstream"]),
            request=request,
            added=dict(record["request"]["added"]),
            status=record["status"],
            content_type=record["response"]["content_type"],
            response=response,
            error=record["error"],
            started_at=str(record["started_at"]),
            first_byte_s=record["first_byte_s"],
            duration_s=float(record["duration_s"]),
            delivered=bool(record["delivered"]),
            response_id=record["response_id"],
            usage=record["usage"],
            finish_reason=record["finish_reason"],
        )

    def _request(self, record_id: str, attempt_id: str, part: Mapping[str, Json]) -> bytes:
        base = b""
        if part["prefix_of"] is not None:
            known, base = self._last.get(attempt_id, ("", b""))
            if known != part["prefix_of"]:
                raise SourceError(
                    f"proxy record {record_id} builds on {part['prefix_of']}, which does not come right before it; "
                    "read the records of an attempt in order, from the first"
                )
        tail = int(part["tail"])
        request = base[: int(part["shared"])] + bytes_of(part["suffix"]) + (base[len(base) - tail :] if tail else b"")
        _prove(record_id, "request", request, part["sha256"])
        return request


def _prove(record_id: str, what: str, data: bytes, sha256: str) -> None:
    if sha256_hex(data) != sha256:
        raise SourceError(f"proxy record {record_id}: the {what} does not have its sha256 {sha256}; the log is damaged")
