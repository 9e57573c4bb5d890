"""Records of a source as columns of `raw_records`: where each lies, its bytes, and the fields it is selected by.

A batch whose records are all plain JSON objects takes one call a record and no other Python object but its bytes; any
other record is read by `decode.head`, with the same outcome. Does not belong here: reading a source, versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import msgspec
import pyarrow as pa

from assets.logs.decode import Head, head
from assets.logs.reader import Line
from assets.logs.timestamps import parse_time
from lake.ids import Json
from lake.raw import Column
from lake.schema.model import TIMESTAMP

_COMMON: Final = len("2026-01-02T03:04:05.678Z")

_heads: Final = msgspec.json.Decoder(Head)


@dataclass(frozen=True)
class Records:
    """Consecutive records of one source."""

    positions: Sequence[int]
    raws: Sequence[bytes]
    lines: Sequence[Line] | None = None
    """The same as the reader gave them, where it may know more of a record than its bytes."""

    @property
    def size(self) -> int:
        """Length of the records together, without line ends."""
        return sum(map(len, self.raws))


def of_lines(lines: Sequence[Line]) -> Records:
    """Records as a reader gives them."""
    return Records([line.position for line in lines], [line.raw for line in lines], lines)


def of_bytes(data: bytes, offset: int) -> Records:
    """Records of a line file from `data[offset:]` on; the newline byte alone ends a record."""
    raws = data[offset:].split(b"\n") if offset else data.split(b"\n")
    if not raws[-1]:
        raws.pop()  # what is behind the last newline is no record
    positions = list(accumulate((len(raw) + 1 for raw in raws[:-1]), initial=offset)) if raws else []
    return Records(positions, raws)


def columns_of(records: Records, *, from_start: bool) -> dict[str, Column]:
    """Columns of `raw_records` that follow from the records.

    Args:
        records: what to describe.
        from_start: whether nothing of the source is in yet: its first record may then begin with a BOM.
    """
    heads, statuses = _heads_of(records, from_start=from_start)
    columns: dict[str, Column] = {
        "position": records.positions,
        "raw": records.raws,
        "record_type": _texts([found.type for found in heads]),
        "record_id": _texts([found.record_id if found.id is None else found.id for found in heads]),
        "parent_id": _texts([found.parentId for found in heads]),
        "ts": _times([found.time if found.timestamp is None else found.timestamp for found in heads]),
        "parse_status": statuses,
    }
    if records.lines is not None:
        columns["encoding"] = [line.encoding for line in records.lines]
        columns["stored"] = [line.stored for line in records.lines]
        if any(line.spilled is not None for line in records.lines):
            spilled = [line.spilled for line in records.lines]
            columns["raw"] = [raw if long is None else None for raw, long in zip(records.raws, spilled, strict=True)]
            columns["raw_blob"] = [None if long is None else long.sha256 for long in spilled]
            columns["raw_size"] = [None if long is None else long.size for long in spilled]
    return columns


def _heads_of(records: Records, *, from_start: bool) -> tuple[list[Head], list[str]]:
    if records.lines is None:
        try:
            decode = _heads.decode
            heads = [decode(raw) for raw in records.raws]
            for raw in records.raws:
                if not raw.isascii():
                    raw.decode()  # the decoder only skips over most texts
            return heads, ["ok"] * len(heads)
        except (ValueError, RecursionError):
            pass  # at least one needs a closer look
    problems = [None] * len(records.raws) if records.lines is None else [line.problem for line in records.lines]
    found: list[tuple[Head, str]] = []
    for position, raw, problem in zip(records.positions, records.raws, problems, strict=True):
        first = from_start or position == 0
        found.append(head(raw, first=first) if problem is None else (head(b"", first=False)[0], problem))
    return [each for each, _ in found], [status for _, status in found]


def _texts(values: list[Json]) -> list[str | None]:
    return [value if type(value) is str else None for value in values]


def _times(values: list[Json]) -> Column:
    """UTC times; texts of the common form are read all at once."""
    if set(map(type, values)) == {str} and set(map(len, values)) == {_COMMON}:
        try:
            return pa.array(values, pa.string()).cast(TIMESTAMP)
        except pa.ArrowInvalid:
            pass  # one of them states no time, or in a way that only `parse_time` reads
    return [parse_time(value) for value in values]
