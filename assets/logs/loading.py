"""Reading one source for ingest: its length and digest, its identity, and its new records.

A small source is read once and held; a large one is read once to measure it and once more, in batches, to append it.
Does not belong here: what is in the log already, and deciding what to append (`ingest`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

from assets.logs.catalogue import Version, identity_of
from assets.logs.columns import Records, columns_of, of_bytes, of_lines
from assets.logs.reader import Line, Source
from assets.logs.readers.streams import FileSource
from lake.ids import Json
from lake.raw import Batch

BATCH_ROWS: Final = 50_000
BATCH_BYTES: Final = 48 * 1024 * 1024
"""Rows and bytes of records that go into one commit, which holds them in memory about four times."""

_SMALL_BYTES: Final = 4 * 1024 * 1024
"""A source above is not held but read again. Bytes."""

_COMPRESSED: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


Held: TypeAlias = bytes | list[Line]
"""A stream, or the records of one."""


@dataclass(frozen=True)
class Loaded:
    """What a source's stream is now."""

    source_id: str
    bytes: int
    sha256: str
    open_tail: bool
    prefixes: Mapping[int, str]
    """sha256 by length, for the lengths asked for."""
    held: Held | None
    """Of a small source its stream, or all its records; None of a large one."""


LengthsOf = Callable[[str], Iterable[int]]
"""Gives, for a source id, the lengths of prefixes to hash on the way. Bytes."""


def load(source: Source, lengths_of: LengthsOf, content: bytes | None = None) -> Loaded | None:
    """Read a source once; None when it holds no record.

    Args:
        source: what to read.
        lengths_of: see `LengthsOf`.
        content: all bytes of the source's file, where they were read already.
    """
    stream = _plain(source, content)
    if stream is not None:
        end = stream.find(b"\n")
        return _held(source, stream[: len(stream) if end < 0 else end], stream, stream, lengths_of) if stream else None
    every = source.lines()
    lines: list[Line] = []
    size = 0
    for line in every:
        lines.append(line)
        size += line.size
        if size > _SMALL_BYTES or len(lines) > BATCH_ROWS:
            source_id = identity_of(source, lines[0])
            return _measure(source_id, chain(_let_go(lines), every), lengths_of(source_id))
    if not lines:
        return None
    stream = b"\n".join([line.raw for line in lines]) + b"\n" * lines[-1].terminated
    return _held(source, lines[0].raw, stream, lines, lengths_of)


def _plain(source: Source, content: bytes | None) -> bytes | None:
    """The bytes of a small line file that lies there as it is; None of any other source."""
    if type(source) is not FileSource:
        return None
    stream = content
    if stream is None:
        with Path(source.file).open("rb") as file:
            if os.fstat(file.fileno()).st_size > _SMALL_BYTES:
                return None
            stream = file.read(_SMALL_BYTES + 1)
    if len(stream) > _SMALL_BYTES or stream.startswith(_COMPRESSED) or stream.count(b"\n") > BATCH_ROWS:
        return None
    return stream


def _held(source: Source, first: bytes, stream: bytes, held: Held, lengths_of: LengthsOf) -> Loaded:
    source_id = identity_of(source, first)
    lengths = {at for at in lengths_of(source_id) if 0 < at < len(stream)}
    prefixes = {at: hashlib.sha256(memoryview(stream)[:at]).hexdigest() for at in lengths}
    open_tail = not held[-1].terminated if isinstance(held, list) else not stream.endswith(b"\n")
    return Loaded(source_id, len(stream), hashlib.sha256(stream).hexdigest(), open_tail, prefixes, held)


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
        for piece in line.pieces():
            while wanted and at < wanted[0] <= at + len(piece):
                part = hasher.copy()
                part.update(memoryview(piece)[: wanted[0] - at])
                prefixes[wanted.pop(0)] = part.hexdigest()
            hasher.update(piece)
            at += len(piece)
        terminated = line.terminated
    return Loaded(source_id, at, hasher.hexdigest(), not terminated, prefixes, None)


def batches(source: Source, base: Version, loaded: Loaded) -> Iterator[Records]:
    """The records of a source behind what is in already, as many at a time as go into one commit."""
    if isinstance(loaded.held, bytes):
        skip = base.open_tail and loaded.held[base.bytes : base.bytes + 1] == b"\n"
        records = of_bytes(loaded.held, base.bytes + skip)  # not only the newline behind a record that is in already
        if records.raws:
            yield records
        return
    if loaded.held is not None and base.bytes == 0:
        yield of_lines(loaded.held)
        return
    lines: list[Line] = []
    size = 0
    for index, line in enumerate(source.lines(base.bytes, loaded.bytes)):
        if index == 0 and base.open_tail and line.size == line.terminated:
            continue  # only the newline behind a record that is in already
        lines.append(line)
        size += line.size
        if len(lines) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield of_lines(lines)
            lines, size = [], 0
    if lines:
        yield of_lines(lines)


def batch_of(source: Source, base: Version, number: int, records: Records, attempt_id: str | None) -> Batch:
    """The same as rows of `raw_records`."""
    same: dict[str, Json] = {
        "source_kind": source.kind,
        "source_path": source.path,
        "session_id": source.session_id,
        "attempt_id": attempt_id,
    }
    if records.lines is None:
        same["encoding"] = "identity"
    columns = columns_of(records, from_start=base.bytes == 0)
    large = [line.spilled.blob() for line in records.lines or () if line.spilled is not None]
    return Batch(base.source_id, base.version, number, len(records.raws), columns, same, large)
