"""Reading one source for ingest: its length and digest, its identity, and its new lines as rows.

A small source is read once and held; a large one is read once to measure it and once more, in batches, to append it.
Does not belong here: what is in the log already, and deciding what to append (`ingest`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from assets.logs.catalogue import Version, identity_of
from assets.logs.decode import head
from assets.logs.reader import Line, Source
from assets.logs.timestamps import parse_time
from lake.ids import Json
from lake.raw import Batch

BATCH_ROWS: Final = 10_000
BATCH_BYTES: Final = 16 * 1024 * 1024
"""Rows and bytes of records that go into one commit."""

_SMALL_BYTES: Final = 4 * 1024 * 1024
"""A source above is not held but read again. Bytes."""


@dataclass(frozen=True)
class Loaded:
    """What a source's stream is now."""

    source_id: str
    bytes: int
    sha256: str
    open_tail: bool
    prefixes: dict[int, str]
    """sha256 by length, for the lengths asked for."""
    lines: list[Line] | None
    """All records of a small source."""


def load(source: Source, lengths_of: Callable[[str], Iterable[int]]) -> Loaded | None:
    """Read a source once; None when it holds no record.

    Args:
        source: what to read.
        lengths_of: gives, for the source's id, the lengths of prefixes to hash on the way. Bytes.
    """
    every = source.lines()
    lines: list[Line] = []
    size = 0
    for line in every:
        lines.append(line)
        size += len(line.raw)
        if size > _SMALL_BYTES or len(lines) > BATCH_ROWS:
            source_id = identity_of(source, lines[0].raw)
            return _measure(source_id, chain(_let_go(lines), every), lengths_of(source_id))
    if not lines:
        return None
    stream = b"\n".join([line.raw for line in lines]) + b"\n" * lines[-1].terminated
    source_id = identity_of(source, lines[0].raw)
    prefixes = {
        at: hashlib.sha256(stream[:at]).hexdigest() for at in set(lengths_of(source_id)) if 0 < at < len(stream)
    }
    sha256 = hashlib.sha256(stream).hexdigest()
    return Loaded(source_id, len(stream), sha256, not lines[-1].terminated, prefixes, lines)


def _let_go(lines: list[Line]) -> Iterator[Line]:
    lines.reverse()
    while lines:
        yield lines.pop()


def _measure(source_id: str, lines: Iterable[Line], lengths: Iterable[int]) -> Loaded:
    """One pass over a stream, of which only a line is held at a time."""
    hasher = hashlib.sha256()
    wanted = sorted(set(lengths))
    prefixes: dict[int, str] = {}
    at = 0
    terminated = True
    for line in lines:
        piece = line.raw + b"\n" if line.terminated else line.raw
        while wanted and at < wanted[0] <= at + len(piece):
            part = hasher.copy()
            part.update(piece[: wanted[0] - at])
            prefixes[wanted.pop(0)] = part.hexdigest()
        hasher.update(piece)
        at += len(piece)
        terminated = line.terminated
    return Loaded(source_id, at, hasher.hexdigest(), not terminated, prefixes, None)


def batches(source: Source, base: Version, loaded: Loaded) -> Iterator[list[Line]]:
    """The records of a source behind what is in already, as many at a time as go into one commit."""
    if loaded.lines is not None and base.bytes == 0:
        yield loaded.lines
        return
    lines: list[Line] = []
    size = 0
    for index, line in enumerate(source.lines(base.bytes, loaded.bytes)):
        if index == 0 and base.open_tail and not line.raw:
            continue  # only the newline behind a record that is in already
        lines.append(line)
        size += len(line.raw)
        if len(lines) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def batch_of(source: Source, base: Version, number: int, lines: list[Line], attempt_id: str | None) -> Batch:
    """Rows of `raw_records` by column."""
    heads = [
        head(line.raw, first=line.position == 0 or base.bytes == 0)
        if line.problem is None
        else (head(b"", first=False)[0], line.problem)
        for line in lines
    ]
    columns: dict[str, list[Json]] = {
        "position": [line.position for line in lines],
        "raw": [line.raw for line in lines],
        "encoding": [line.encoding for line in lines],
        "stored": [line.stored for line in lines],
        "record_type": [_text(fields.type) for fields, _ in heads],
        "record_id": [_text(fields.name) for fields, _ in heads],
        "parent_id": [_text(fields.parentId) for fields, _ in heads],
        "ts": [parse_time(fields.time) for fields, _ in heads],
        "parse_status": [status for _, status in heads],
    }
    same: dict[str, Json] = {
        "source_kind": source.kind,
        "source_path": source.path,
        "session_id": source.session_id,
        "attempt_id": attempt_id,
    }
    return Batch(base.source_id, base.version, number, len(lines), columns, same)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
