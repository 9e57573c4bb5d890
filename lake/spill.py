"""Rows of many tables collected on disk as they are made, and given back table by table, in order.

Belongs here: checks of what was made, the sums of its rows, the files. Does not belong here: Delta, what to make.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from lake.conform import fit
from lake.digest import Sum, row_hashes
from lake.errors import LakeError
from lake.grouping import GROUP, Made
from lake.ids import Json
from lake.schema import TABLES

_RUN_BYTES: Final = 96 * 1024 * 1024
"""Rows sorted together; held twice. What was spilled is read once for each such part of it."""

_BATCH_ROWS: Final = 2048


class Spill:
    """Made rows on their way to some tables. Leaves nothing on disk when closed."""

    def __init__(self, root: Path, names: Sequence[str]) -> None:
        self._names = names
        self._folder = root / "scratch" / uuid.uuid4().hex
        self._folder.mkdir(parents=True)
        self._sinks: dict[str, pa.OSFile] = {}
        self._writers: dict[str, pa.RecordBatchFileWriter] = {}
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        for name in names:
            self._sinks[name] = pa.OSFile(str(self._folder / f"{name}.arrow"), "wb")
            self._writers[name] = pa.ipc.new_file(self._sinks[name], TABLES[name].arrow, options=options)
        self._owners: dict[str, set[str]] = {name: set() for name in names}
        self.sums: dict[str, tuple[Sum, ...]] = {}
        """Of each group, its sum in each table."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._finish()
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, made: Made) -> None:
        """Take the rows of some groups, each in one piece, and leave none with the caller.

        Raises:
            LakeError: rows that do not fit the schema, or a key of another group or row.
        """
        sums: dict[str, list[Sum]] = {group.group_id: [] for group, _ in made}
        for name in self._names:
            counts = [len(tables[name]) for _, tables in made]
            rows = [row for _, tables in made for row in tables.pop(name)]
            groups = [group.group_id for (group, _), count in zip(made, counts, strict=True) for _ in range(count)]
            table = fit(TABLES[name], _grouped(name, rows, groups)).combine_chunks()
            del rows
            self._check_keys(name, table)
            hashes = row_hashes(name, table)
            at = 0
            for (group, _), count in zip(made, counts, strict=True):
                sums[group.group_id].append(sum(map(_one, hashes[at : at + count]), Sum()))
                at += count
            if table.num_rows:
                self._writers[name].write_table(table)
        self.sums.update({group: tuple(found) for group, found in sums.items()})

    def _check_keys(self, name: str, table: pa.Table) -> None:
        spec = TABLES[name]
        keys = table.group_by(list(spec.key)).aggregate([([], "count_all")]).num_rows
        owners = set(pc.unique(table.column(spec.key[0])).to_pylist())
        again = owners & self._owners[name]
        if keys != table.num_rows or again:
            what = f"{spec.key[0]} {min(again)} belongs to two groups" if again else f"{table.num_rows - keys} repeated"
            raise LakeError(f"table {name}: key {spec.key} is not unique: {what}")
        self._owners[name] |= owners

    def owners(self, name: str) -> set[str]:
        """Values of the first key column of a table among the rows taken."""
        return self._owners[name]

    def _finish(self) -> None:
        for name in list(self._writers):
            self._writers.pop(name).close()
            self._sinks.pop(name).close()

    def rows(self, name: str) -> pa.RecordBatchReader:
        """All rows of a table that were taken. No more can be added then."""
        batches = (batch for run in self.runs(name) for batch in run.to_batches(max_chunksize=_BATCH_ROWS))
        return pa.RecordBatchReader.from_batches(TABLES[name].arrow, batches)

    def runs(self, name: str) -> Iterator[pa.Table]:
        """The same in pieces, each sorted and all of it behind the one before: a point read then opens one file."""
        self._finish()
        order = TABLES[name].sort_by or TABLES[name].key
        with pa.OSFile(str(self._folder / f"{name}.arrow"), "rb") as source:
            file = pa.ipc.open_file(source)
            for low, high in _ranges(file, order[0]):
                batches = map(file.get_batch, range(file.num_record_batches))
                run = pa.concat_tables([_within(batch, order[0], low, high) for batch in batches])
                yield run.sort_by([(column, "ascending") for column in order])


def _ranges(file: pa.ipc.RecordBatchFileReader, column: str) -> list[tuple[Json, Json]]:
    """Ranges [low, high) of a column, None for no end, each with about so many bytes of rows as are sorted together."""
    values: list[pa.Array] = []
    size = 0
    for number in range(file.num_record_batches):
        batch = file.get_batch(number)
        values.append(batch.column(column))
        size += batch.nbytes
    if not values:
        return []
    ordered = pa.concat_arrays(values).sort()
    count = -(-size // _RUN_BYTES)
    ends = list(dict.fromkeys(ordered[len(ordered) * number // count].as_py() for number in range(1, count)))
    return list(pairwise([None, *(end for end in ends if end != ordered[0].as_py()), None]))


def _within(batch: pa.RecordBatch, column: str, low: Json, high: Json) -> pa.Table:
    rows = pa.Table.from_batches([batch])
    if low is not None:
        rows = rows.filter(pc.greater_equal(rows.column(column), low))
    return rows if high is None else rows.filter(pc.less(rows.column(column), high))


def _grouped(name: str, rows: list[dict[str, Json]], groups: list[str]) -> pa.Table:
    """Rows with the group of each."""
    schema = TABLES[name].arrow
    table = pa.Table.from_pylist(rows, schema=schema)
    return table.set_column(schema.get_field_index(GROUP), schema.field(GROUP), pa.array(groups, pa.string()))


def _one(value: int) -> Sum:
    return Sum(1, value)
