"""Digests of tables: the same content gives the same hash, whatever the files on disk look like.

The encoding (`clawgym.digest/2`), over content columns only (the schema marks bookkeeping). A row is its fixed part
followed by its variable parts, columns in declared order. Fixed: for text, bytes and lists the length as int64 (-1 for
null); for other types one byte (1, or 0 for null) and eight (numbers, booleans and microseconds as little-endian
int64 or float64, NaN as 0x7ff8…, null as 0). Variable: text as UTF-8, bytes as they are, a list's values encoded as
rows of one column. All lengths stand in front, so no two rows have one encoding.

A table's digest is the sha256 over the encoding's name, the columns with their kinds, the number of rows, and the sum
of the rows' sha256 modulo 2^256. A sum has no order and can be kept by part: a build that changed few rows adds up
the sums of all parts instead of reading all rows. Keys are unique, so order says nothing that the rows do not. A sum
finds accidents, lost and doubled rows; it is no defence against somebody who constructs rows to cancel each other out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake.schema import TABLES

ENCODING: Final = "clawgym.digest/2"

_AT_ONCE: Final = 32 * 1024 * 1024
"""Bytes of rows encoded at a time; bounds memory."""

_MODULUS: Final = 1 << 256

_KINDS: Final = {
    "text": (pa.types.is_string, pa.types.is_large_string),
    "bytes": (pa.types.is_binary, pa.types.is_large_binary),
    "list": (pa.types.is_list, pa.types.is_large_list),
    "float": (pa.types.is_floating,),
    "integer": (pa.types.is_integer,),
    "boolean": (pa.types.is_boolean,),
    "microseconds": (pa.types.is_timestamp,),
}

_Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Sum:
    """How many rows there are, and the sum of their hashes. Sums of parts add up to that of the whole."""

    rows: int = 0
    total: int = 0

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.rows + other.rows, (self.total + other.total) % _MODULUS)

    def digest(self, name: str) -> str:
        """The digest (sha256, hex) of a table with these rows."""
        spec = TABLES[name]
        columns = ",".join(f"{column} {kind_of(spec.column(column).type)}" for column in spec.content_columns)
        return hashlib.sha256(f"{ENCODING} {columns} {self.rows} {self.total:064x}".encode()).hexdigest()


def row_hashes(name: str, rows: pa.Table | pa.RecordBatch) -> list[int]:
    """The sha256 of each row, as a number, in their order. The rows are in the declared types."""
    found: list[int] = []
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
    for batch in table.select(list(TABLES[name].content_columns)).to_batches():
        for part in _small(batch):
            found += _hashes(part)
    return found


def sum_of(name: str, batches: Iterable[pa.RecordBatch]) -> Sum:
    """The sum over all rows of some batches, in the declared types and any order."""
    found = Sum()
    for batch in batches:
        hashes = row_hashes(name, batch)
        found += Sum(len(hashes), sum(hashes))
    return found


def table_digest(name: str, rows: pa.Table) -> str:
    """sha256 (hex) over the content columns of `rows`, in any order."""
    return sum_of(name, rows.to_batches()).digest(name)


def kind_of(type_: pa.DataType) -> str:
    """What a type is to the digest.

    Raises:
        TypeError: no encoding is defined for it.
    """
    for kind, tests in _KINDS.items():
        if any(test(type_) for test in tests):
            return kind
    raise TypeError(f"no digest is defined for {type_}; see lake/digest.py")


def _small(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """The batch in parts that are encoded at a time."""
    if batch.num_rows <= 1 or batch.get_total_buffer_size() <= _AT_ONCE or batch.nbytes <= _AT_ONCE:
        return [batch] if batch.num_rows else []
    half = batch.num_rows // 2
    return _small(batch.slice(0, half)) + _small(batch.slice(half))


def _hashes(batch: pa.RecordBatch) -> list[int]:
    if batch.num_rows == 1 and batch.nbytes > _AT_ONCE:
        return [_hash_of_one(batch.columns)]
    data, ends = _encode(batch.columns)
    view, sha256 = memoryview(data), hashlib.sha256
    places = ends.tolist()
    return [int.from_bytes(sha256(view[first:last]).digest(), "big") for first, last in pairwise(places)]


def _hash_of_one(columns: list[pa.Array]) -> int:
    """The same of one large row, which is not copied for it."""
    block, variable = _parts(columns)
    hasher = hashlib.sha256(block.tobytes())
    for values in variable:
        _, offsets, data = values.buffers()
        first, last = np.frombuffer(offsets, dtype=np.int64)[values.offset : values.offset + 2].tolist()
        if last > first:
            hasher.update(memoryview(data)[first:last])
    return int.from_bytes(hasher.digest(), "big")


def _encode(columns: list[pa.Array]) -> tuple[pa.Buffer, npt.NDArray[np.int64]]:
    """Rows of these columns, encoded one behind the other, and where each begins (and the last one ends)."""
    block, variable = _parts(columns)
    rows, width = block.shape
    head = _binary(np.arange(rows + 1, dtype=np.int64) * width, pa.py_buffer(block))
    joined = pc.binary_join_element_wise(head, *variable, pa.scalar(b"", pa.large_binary())) if variable else head
    _, offsets, data = joined.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[joined.offset : joined.offset + rows + 1]
    return data if data is not None else pa.py_buffer(b""), ends


def _parts(columns: list[pa.Array]) -> tuple[_Bytes, list[pa.Array]]:
    """The fixed part of each row, a row a line, and the variable ones, as large_binary without nulls."""
    fixed: list[_Bytes] = []
    variable: list[pa.Array] = []
    for values in columns:
        kind = kind_of(values.type)
        if kind == "list":
            lengths = pc.list_value_length(values)
            fixed.append(_numbers(pc.fill_null(lengths.cast(pa.int64()), -1)))
            variable.append(_lists(values, pc.fill_null(lengths.cast(pa.int64()), 0)))
        elif kind in ("text", "bytes"):
            data = values.cast(pa.large_string() if kind == "text" else pa.large_binary()).cast(pa.large_binary())
            fixed.append(_numbers(pc.fill_null(pc.binary_length(data), -1)))
            variable.append(pc.fill_null(data, b""))
        else:
            fixed.append(pc.is_valid(values).cast(pa.uint8()).to_numpy(zero_copy_only=False).reshape(-1, 1))
            fixed.append(_floats(values) if kind == "float" else _numbers(pc.fill_null(values.cast(pa.int64()), 0)))
    return np.ascontiguousarray(np.concatenate(fixed, axis=1)), variable


def _lists(values: pa.Array, lengths: pa.Array) -> pa.Array:
    """The values of each list, encoded."""
    data, ends = _encode([values.flatten()])
    counts = np.concatenate([[0], np.cumsum(lengths.to_numpy(zero_copy_only=False))]).astype(np.int64)
    return _binary(np.ascontiguousarray(ends[counts]), data)


def _binary(offsets: npt.NDArray[np.int64], data: pa.Buffer) -> pa.Array:
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), data])


def _numbers(values: pa.Array) -> _Bytes:
    return _eight_bytes(values.cast(pa.int64()).to_numpy(zero_copy_only=False).astype("<i8"))


def _floats(values: pa.Array) -> _Bytes:
    numbers = pc.fill_null(values.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
    return _eight_bytes(np.where(np.isnan(numbers), np.nan, numbers).astype("<f8"))


def _eight_bytes(numbers: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> _Bytes:
    found: _Bytes = numbers.view(np.uint8).reshape(-1, 8)
    return found
