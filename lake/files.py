"""Parquet files of a table, written here one at a time: the Delta writer holds all it is given before it writes any.

Belongs here: a file and what the Delta log says of it. Does not belong here: commits (`store`).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.transaction import AddAction

from lake.ids import Json
from lake.schema import Table

_LONGEST: Final = 200
"""Characters of a text that may stand in the Delta log; of a longer one no range is given."""


def paths_of(table: DeltaTable) -> list[str]:
    """The data files of a version, as paths; Delta states them as addresses, with `%20` for a space."""
    return [unquote(uri.removeprefix("file://")) for uri in table.file_uris()]


def write_file(
    folder: Path, spec: Table, rows: pa.Table, *, level: int, row_group: int, unlike: Sequence[str] = ()
) -> AddAction:
    """Write a file of rows, which are in the declared schema and order.

    Args:
        folder: the table's folder.
        spec: the table.
        rows: at least one.
        level: of zstd.
        row_group: rows of a row group.
        unlike: columns whose values do not repeat.

    Returns:
        What brings the file into the table.
    """
    path = folder / f"part-{uuid.uuid4()}.zstd.parquet"
    known = list(dict.fromkeys((*spec.key, *spec.sort_by)))
    pq.write_table(
        rows,
        path,
        row_group_size=row_group,
        compression="zstd",
        compression_level=level,
        use_dictionary=[name for name in rows.column_names if name not in unlike],
        write_statistics=known,
        store_schema=False,
    )
    stat = path.stat()
    return AddAction(path.name, stat.st_size, {}, stat.st_mtime_ns // 1_000_000, True, _statistics(rows, known))


def _statistics(rows: pa.Table, columns: Sequence[str]) -> str:
    low: dict[str, Json] = {}
    high: dict[str, Json] = {}
    nulls: dict[str, int] = {}
    for name in columns:
        nulls[name] = rows.column(name).null_count
        ends = pc.min_max(rows.column(name)).as_py()
        if (
            isinstance(ends["min"], str | int)
            and len(str(ends["min"])) <= _LONGEST
            and len(str(ends["max"])) <= _LONGEST
        ):
            low[name], high[name] = ends["min"], ends["max"]
    return json.dumps({"numRecords": rows.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls})
