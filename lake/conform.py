"""Fitting what a projection gave to the declared schema: types, nulls, key, order, digest.

Belongs here: both ways, in memory and through the disk for what does not fit. Does not belong here: running
projections, writing Delta.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from lake.digest import Sum, sum_of, table_digest
from lake.engine import literal, quote
from lake.errors import LakeError
from lake.schema import TABLES, Table


@dataclass(frozen=True)
class Conformed:
    """Rows ready to be written: checked, in physical order, with their digest."""

    data: pa.Table | pa.RecordBatchReader
    rows: int
    digest: str

    @staticmethod
    def of(name: str, rows: pa.Table) -> Conformed:
        """From a table in memory."""
        ordered = conform(name, rows)
        return Conformed(ordered, ordered.num_rows, table_digest(name, ordered))


def conform(name: str, rows: pa.Table) -> pa.Table:
    """Rows cast to the declared schema and sorted; checks nullability and the key.

    Raises:
        LakeError: a null where none may be, a repeated key, or a missing column.
    """
    spec = TABLES[name]
    table = fit(spec, rows)
    keys = table.group_by(list(spec.key)).aggregate([([], "count_all")])
    if keys.num_rows != table.num_rows:
        raise LakeError(f"table {name}: key {spec.key} is not unique ({table.num_rows} rows, {keys.num_rows} keys)")
    return table.sort_by(_ascending(spec.sort_by or spec.key))


def fit(spec: Table, rows: pa.Table) -> pa.Table:
    """Rows cast to the declared schema.

    Raises:
        LakeError: a null where none may be, or a missing column.
    """
    for column in spec.columns:
        if column.name in rows.column_names and not column.nullable and (nulls := rows.column(column.name).null_count):
            raise LakeError(
                f"table {spec.name}: column {column.name} holds {nulls} nulls; see lake/schema/{spec.stage}.py"
            )
    try:
        return rows.select(spec.arrow.names).cast(spec.arrow)
    except (KeyError, ValueError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise LakeError(
            f"rows for table {spec.name} do not fit its schema: {error}; see lake/schema/{spec.stage}.py"
        ) from error


@contextmanager
def conform_stream(root: Path, name: str, batches: pa.RecordBatchReader) -> Iterator[Conformed]:
    """The same from a reader of batches, in bounded memory: sorted through files below `<root>/scratch`."""
    spec = TABLES[name]
    folder = root / "scratch" / uuid.uuid4().hex
    folder.mkdir(parents=True)
    try:
        content = _spill(spec, batches, folder / "rows.arrow")
        connection = duckdb.connect(":memory:")
        connection.execute(f"set temp_directory = {literal(str(folder))}")
        connection.execute("set arrow_large_buffer_size = true")
        connection.register("rows", pa.ipc.open_file(pa.memory_map(str(folder / "rows.arrow"))).read_all())
        key = ", ".join(quote(column) for column in spec.key)
        (keys,) = connection.execute(f"select count(*) from (select distinct {key} from rows)").fetchone() or (0,)  # noqa: S608 - quoted
        if keys != content.rows:
            raise LakeError(f"table {name}: key {spec.key} is not unique ({content.rows} rows, {keys} keys)")
        physical = pa.RecordBatchReader.from_batches(spec.arrow, _ordered(connection, spec, spec.sort_by or spec.key))
        yield Conformed(physical, content.rows, content.digest(name))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _spill(spec: Table, batches: pa.RecordBatchReader, path: Path) -> Sum:
    content = Sum()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, spec.arrow) as writer:
        for batch in batches:
            table = fit(spec, pa.Table.from_batches([batch]))
            content += sum_of(spec.name, table.to_batches())
            writer.write_table(table)
    return content


def _ordered(connection: duckdb.DuckDBPyConnection, spec: Table, order: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    columns = ", ".join(quote(column) for column in order)
    reader = connection.execute(f"select * from rows order by {columns}").to_arrow_reader(65_536)  # noqa: S608 - quoted
    for batch in reader:
        yield from pa.Table.from_batches([batch]).cast(spec.arrow).to_batches()


def _ascending(columns: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(column, "ascending") for column in columns]
