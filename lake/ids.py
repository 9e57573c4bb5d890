"""Identities and canonical bytes: one JSON encoding and one hash for the whole lake.

Belongs here: canonical JSON, sha256 and the derived ids. Does not belong here: anything that reads or writes.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from typing import Any

import msgspec

_SURROGATE = re.compile("[\ud800-\udfff]")

Json = Any
"""A JSON value."""

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode

_encode_quickly = msgspec.json.Encoder().encode


def canonical(value: Json) -> str:
    """Canonical JSON text: sorted keys, no spaces, no NaN; always encodable (a lone surrogate stays an escape).

    Raises:
        ValueError: the value holds NaN or an infinity.
    """
    text = _encode(value)
    return text if text.isascii() else _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def dumps(value: Json) -> str:
    """JSON text in the value's own key order, without spaces."""
    try:
        return _encode_quickly(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def sha256_hex(data: bytes | str) -> str:
    """sha256 of bytes, or of the UTF-8 of a string (lone surrogates kept as they are), in hex."""
    return hashlib.sha256(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data).hexdigest()


def digest(*parts: Json, length: int = 20) -> str:
    """First `length` hex digits of the sha256 over the canonical JSON of `parts`."""
    return sha256_hex(canonical(list(parts)))[:length]


def event_id(stream_kind: str, stream_id: str, seq: int) -> str:
    """Identity of an event: the full digest of its place in its stream."""
    return digest(stream_kind, stream_id, seq, length=64)


def record_key(source_id: str, version: int, position: int) -> str:
    """Identity of a raw record; what lineage points at."""
    return digest(source_id, version, position, length=64)


def utc_now() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)
