"""One record's bytes to a JSON object: strictly for the record's status, leniently for cleaning.

The fast path is one msgspec call. What it refuses (lone surrogates, NaN, 1e400, bad bytes, a BOM, deep nesting) goes
the slow way, which says what it found. Does not belong here: what a record means.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import msgspec

from lake.ids import Json

MAX_DECODED: Final = 16 * 1024 * 1024
"""Records above are framed and stored, never decoded. Bytes."""

MAX_DEPTH: Final = 3000
"""Records nested deeper are refused, as every parser with recursion must."""

KEPT_DEPTH: Final = 200
"""Values nested deeper are replaced by a text in cleaned data."""

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r\n\x0b\x0c"
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Head(msgspec.Struct, gc=False):
    """The fields by which records are selected; everything else of a record is only skipped over."""

    type: Any = None
    id: Any = None
    parentId: Any = None  # noqa: N815 - the field's own name in the log
    timestamp: Any = None
    ts: Any = None
    record_id: Any = None
    started_at: Any = None

    @property
    def name(self) -> Any:
        """The record's id, whatever its kind calls it."""
        return self.id if self.id is not None else self.record_id

    @property
    def time(self) -> Any:
        """The time the record states, whatever its kind calls it."""
        return next((value for value in (self.timestamp, self.ts, self.started_at) if value is not None), None)


class Decoded(NamedTuple):
    """A record's object and what was wrong with it."""

    value: dict[str, Json] | None
    status: str
    """ok | blank | bad_json | not_object | bad_utf8 | oversized: by the strict rules."""
    notes: tuple[str, ...]
    """bom | lone_surrogate | nonfinite_number | bad_utf8 | deep_nesting: what the lenient reading repaired."""


_heads: Final = msgspec.json.Decoder(Head)
_any: Final = msgspec.json.Decoder()


def head(raw: bytes, *, first: bool) -> tuple[Head, str]:
    """The selecting fields of a record and its strict status.

    Args:
        raw: the record without its line end.
        first: whether it is the first of its source (a BOM is allowed there).
    """
    if len(raw) > MAX_DECODED:
        return Head(), "oversized"
    if not raw or not raw.strip(_BLANK):
        return Head(), "blank"
    try:
        found = _heads.decode(raw)
        if not raw.isascii():
            raw.decode()
        return found, "ok"
    except (ValueError, RecursionError):
        decoded = _slow(raw, first=first)
    if decoded.value is None:
        return Head(), decoded.status
    fields = {name: decoded.value.get(name) for name in Head.__struct_fields__}
    return Head(**fields), decoded.status


def decode(raw: bytes, *, first: bool = False) -> Decoded:
    """A record's object, read leniently; `value` is None only when there is no object in it.

    Texts of the value hold no lone surrogates, numbers are finite, nesting is at most `KEPT_DEPTH`.
    """
    if len(raw) > MAX_DECODED:
        return Decoded(None, "oversized", ())
    try:
        value = _any.decode(raw)
    except (ValueError, RecursionError):
        return Decoded(None, "blank", ()) if not raw.strip(_BLANK) else _slow(raw, first=first)
    if type(value) is dict:
        return Decoded(value, "ok", ()) if raw.count(b"{") + raw.count(b"[") <= KEPT_DEPTH else _bounded(value)
    return Decoded(None, "not_object", ())


def _bounded(value: dict[str, Json]) -> Decoded:
    notes: set[str] = set()
    return Decoded(_clean(value, notes, 0), "ok", tuple(sorted(notes)))


def _slow(raw: bytes, *, first: bool) -> Decoded:
    notes: set[str] = set()
    status = "ok"
    if first and raw.startswith(_BOM):
        notes.add("bom")
        raw = raw[3:]
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        status = "bad_utf8"
        notes.add("bad_utf8")
        text = raw.decode("utf-8", "replace")
    depth = _depth(raw)
    if depth > MAX_DEPTH:
        return Decoded(None, "not_object" if raw.lstrip()[:1] == b"[" else "bad_json", ())
    nonfinite: list[str] = []
    try:
        with _recursion(depth):
            value = json.loads(text, parse_constant=nonfinite.append)
    except ValueError:
        return Decoded(None, "bad_json" if status == "ok" else status, ())
    if nonfinite:
        status = "bad_json" if status == "ok" else status
        notes.add("nonfinite_number")
    if not isinstance(value, dict):
        return Decoded(None, "not_object" if status == "ok" else status, ())
    with _recursion(depth):
        cleaned = _clean(value, notes, 0)
    return Decoded(cleaned, status, tuple(sorted(notes)))


def _depth(raw: bytes) -> int:
    """Greatest nesting of brackets outside strings."""
    depth = deepest = 0
    for byte in _STRING.sub(b"", raw):
        if byte in b"{[":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"}]":
            depth -= 1
    return deepest


@contextmanager
def _recursion(depth: int) -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 4 * depth + 1000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _clean(value: Json, notes: set[str], depth: int) -> Json:
    """A copy without lone surrogates, non-finite numbers and values nested too deep."""
    if isinstance(value, str):
        if _SURROGATE.search(value):
            notes.add("lone_surrogate")
            return _SURROGATE.sub("\ufffd", value)
        return value
    if isinstance(value, float) and not math.isfinite(value):
        notes.add("nonfinite_number")
        return None
    if isinstance(value, (dict, list)) and depth >= KEPT_DEPTH:
        notes.add("deep_nesting")
        return f"[nested deeper than {KEPT_DEPTH} levels]"
    if isinstance(value, dict):
        return {_clean(key, notes, depth): _clean(item, notes, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, notes, depth + 1) for item in value]
    return value
