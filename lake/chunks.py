"""Raw records of many sources, some sources at a time, in bounded memory.

Few lists are read by a query each. Many would read each file many times, since a list's records lie all over: the
records are then read once and dealt out to a file a list below `<root>/scratch`. Does not belong here: what is read.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from lake.engine import quote
from lake.files import paths_of
from lake.reader import Reader

RecordKeys = Sequence[tuple[str, int]]
"""Versions of sources, as (source_id, version)."""

_QUERIES: Final = 8
"""Lists up to which each is a query of its own."""

_ROWS: Final = 512
"""Records read at a time; each is up to 1 MiB large."""

_OPEN: Final = 128
"""Files written at a time; of more lists, several share one and are told apart when it is read."""

_ORDER: Final = [("source_id", "ascending"), ("version", "ascending"), ("position", "ascending")]


def read_chunks(reader: Reader, chunks: Sequence[RecordKeys], columns: Sequence[str]) -> Iterator[pa.Table]:
    """A table of these columns for each list of source versions, ordered by (source_id, version, position).

    `columns` must include these three.
    """
    if len(chunks) <= _QUERIES:
        files = _files_with(reader, chunks)
        for chunk in chunks:
            yield _read(reader, [chunk], columns, files).read_all().drop_columns(["chunk"]).sort_by(_ORDER)
        return
    folder = reader.root / "scratch" / uuid.uuid4().hex
    folder.mkdir(parents=True)
    try:
        shared = -(-len(chunks) // _OPEN)
        records = _read(reader, chunks, columns)
        _deal(records, folder, shared)
        for number in range(len(chunks)):
            table = _of_chunk(folder / f"{number // shared}.arrow", number, records.schema)
            yield table.drop_columns(["chunk"]).sort_by(_ORDER)
            if (number + 1) % shared == 0:
                (folder / f"{number // shared}.arrow").unlink(missing_ok=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _files_with(reader: Reader, chunks: Sequence[RecordKeys]) -> list[str]:
    """Files that hold any of these records. New ones are in few, and the join alone would unpack the bytes of all."""
    place = reader.place("raw_records")
    files = paths_of(DeltaTable(str(place.path), version=place.version))
    if not files or any(mark in str(place.path) for mark in "*?["):  # DuckDB takes these for patterns
        return []
    cursor = reader.cursor([])
    cursor.register("wanted", _wanted(chunks))
    query = "select distinct filename from read_parquet($files, filename = true) semi join wanted using (source_id)"
    return sorted(name for (name,) in cursor.execute(query, {"files": files}).fetchall())


def _read(
    reader: Reader, chunks: Sequence[RecordKeys], columns: Sequence[str], files: Sequence[str] | None = None
) -> pa.RecordBatchReader:
    """Records of all lists in stored order, with the number of their list; from some files, where they are known."""
    listed = ", ".join(f"records.{quote(column)}" for column in columns)
    rows = "raw_records" if not files else "read_parquet($files, union_by_name = true)"
    cursor = reader.cursor([] if files else ["raw_records"])
    cursor.register("wanted", _wanted(chunks))
    query = f"select chunk, {listed} from {rows} as records join wanted using (source_id, version)"  # noqa: S608 - quoted
    return cursor.execute(query, {"files": list(files)} if files else None).to_arrow_reader(_ROWS)


def _wanted(chunks: Sequence[RecordKeys]) -> pa.Table:
    return pa.table(
        {
            "source_id": pa.array([source for chunk in chunks for source, _ in chunk], pa.string()),
            "version": pa.array([version for chunk in chunks for _, version in chunk], pa.int32()),
            "chunk": pa.array([number for number, chunk in enumerate(chunks) for _ in chunk], pa.int32()),
        }
    )


def _deal(records: pa.RecordBatchReader, folder: Path, shared: int) -> None:
    """Write each record to the file of its list."""
    with ExitStack() as opened:
        writers: dict[int, pa.RecordBatchStreamWriter] = {}
        for batch in records:
            numbers = batch.column("chunk").to_numpy() // shared
            order = np.argsort(numbers, kind="stable")
            ordered, numbers = batch.take(pa.array(order)), numbers[order]
            starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
            for start, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
                number = int(numbers[start])
                if number not in writers:
                    sink = opened.enter_context(pa.OSFile(str(folder / f"{number}.arrow"), "wb"))
                    stream = pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))
                    writers[number] = opened.enter_context(stream)
                writers[number].write_batch(ordered.slice(start, end - start))


def _of_chunk(path: Path, number: int, schema: pa.Schema) -> pa.Table:
    if not path.exists():
        return schema.empty_table()  # none of its sources has a record
    with pa.OSFile(str(path), "rb") as source, pa.ipc.open_stream(source) as stream:
        found = [batch.filter(pc.equal(batch.column("chunk"), number)) for batch in stream]
        return pa.Table.from_batches(found, stream.schema)
