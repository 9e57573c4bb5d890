"""Digests of tables: the same content gives the same hash, whatever the files on disk look like.

The encoding (`clawgym.digest/1`), over content columns only (the schema marks bookkeeping) and rows in key order:
each column is two byte streams, hashed apart. *shape*: for text, bytes and lists the length as int64 (-1 for null),
for other types one byte (1, or 0 for null). *data*: the values one after another; text as UTF-8, numbers, booleans
and microseconds as eight little-endian bytes (NaN as 0x7ff8…, null as 0). A list's values are a column of their own,
`name[]`. The table's digest is the sha256 over the row count and a line `name kind sha256(shape) sha256(data)` each.
Batches, files, and the width of a type (int32, int64, large_string) leave no trace in it. Hashing columns instead of
rows keeps it at memory speed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake.schema import TABLES

ENCODING: Final = "clawgym.digest/1"

_KINDS: Final = {
    "text": (pa.types.is_string, pa.types.is_large_string),
    "bytes": (pa.types.is_binary, pa.types.is_large_binary),
    "list": (pa.types.is_list, pa.types.is_large_list),
    "float": (pa.types.is_floating,),
    "integer": (pa.types.is_integer,),
    "boolean": (pa.types.is_boolean,),
    "microseconds": (pa.types.is_timestamp,),
}


class TableDigest:
    """The digest of a table, fed batch by batch in key order."""

    def __init__(self, name: str) -> None:
        spec = TABLES[name]
        self._columns = {column: _Column(column, spec.column(column).type) for column in spec.content_columns}
        self._rows = 0

    def update(self, batch: pa.RecordBatch) -> None:
        """Take the next rows, in the declared types."""
        self._rows += batch.num_rows
        for name, column in self._columns.items():
            column.update(batch.column(name))

    def hexdigest(self) -> str:
        """sha256 (hex) of what was fed so far."""
        lines = [f"{ENCODING} {self._rows}"]
        for column in self._columns.values():
            lines += column.lines()
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def table_digest(name: str, rows: pa.Table) -> str:
    """sha256 (hex) over the content columns of `rows`, which need not be sorted."""
    return sorted_digest(name, rows.sort_by([(column, "ascending") for column in TABLES[name].key]))


def sorted_digest(name: str, rows: pa.Table) -> str:
    """sha256 (hex) over the content columns of `rows`, which are in key order."""
    digest = TableDigest(name)
    for batch in rows.select(list(TABLES[name].content_columns)).to_batches():
        digest.update(batch)
    return digest.hexdigest()


def kind_of(type_: pa.DataType) -> str:
    """What a type is to the digest.

    Raises:
        TypeError: no encoding is defined for it.
    """
    for kind, tests in _KINDS.items():
        if any(test(type_) for test in tests):
            return kind
    raise TypeError(f"no digest is defined for {type_}; see lake/digest.py")


class _Column:
    """The two streams of a column, and those of its list values."""

    def __init__(self, name: str, type_: pa.DataType) -> None:
        self.name, self.kind = name, kind_of(type_)
        self._shape, self._data = hashlib.sha256(), hashlib.sha256()
        self._items = _Column(f"{name}[]", type_.value_type) if self.kind == "list" else None

    def update(self, values: pa.Array) -> None:
        """Take the next values."""
        if self._items is not None:
            self._shape.update(_lengths(pc.list_value_length(values)))
            self._items.update(values.flatten())
        elif self.kind in ("text", "bytes"):
            self._update_bytes(values.cast(pa.large_string() if self.kind == "text" else pa.large_binary()))
        else:
            self._update_fixed(values)

    def _update_bytes(self, values: pa.Array) -> None:
        self._shape.update(_lengths(pc.binary_length(values)))
        if values.null_count:  # what lies behind a null is undefined
            values = pc.drop_null(values)
        if len(values):
            _, offsets, data = values.buffers()
            ends = np.frombuffer(offsets, dtype=np.int64)
            first, last = int(ends[values.offset]), int(ends[values.offset + len(values)])
            if last > first:
                self._data.update(memoryview(data)[first:last])

    def _update_fixed(self, values: pa.Array) -> None:
        self._shape.update(pc.is_valid(values).cast(pa.uint8()).to_numpy(zero_copy_only=False).tobytes())
        if self.kind == "float":
            numbers = pc.fill_null(values.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
            self._data.update(np.where(np.isnan(numbers), np.nan, numbers).astype("<f8").tobytes())
        else:
            numbers = pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
            self._data.update(numbers.astype("<i8").tobytes())

    def lines(self) -> Iterator[str]:
        """The column's part of the digest."""
        yield f"{self.name} {self.kind} {self._shape.hexdigest()} {self._data.hexdigest()}"
        if self._items is not None:
            yield from self._items.lines()


def _lengths(lengths: pa.Array) -> bytes:
    numbers = pc.fill_null(lengths.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    return bytes(numbers.astype("<i8").tobytes())
