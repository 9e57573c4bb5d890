"""Point reads: the few rows of a table that have one value in the column it is sorted by, in milliseconds.

Which files may hold the value is known from the Delta log (kept per version), which row groups from their footers; so
a read costs one row group a file, not a plan over the table. Does not belong here: any other question, see `reader`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable

from lake.engine import Engine, Place, quote
from lake.errors import UsageError
from lake.ids import Json
from lake.schema import TABLES

_PREFIX: Final = 48
"""Ends of a file's range are compared by their first characters: longer texts are cut in the log."""

_KEPT: Final = 64
"""Table versions whose files are remembered."""


class _File(NamedTuple):
    path: str
    least: str | None
    greatest: str | None

    def may_hold(self, value: str) -> bool:
        start = value[:_PREFIX]
        return (self.least is None or self.least <= start) and (self.greatest is None or start <= self.greatest)


class PointReads:
    """Point reads of any number of tables. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engine = Engine(threads=1)  # one row group is no work for several
        self._files: OrderedDict[tuple[Place, str], list[_File]] = OrderedDict()

    def read(self, name: str, place: Place, column: str, value: str, wanted: Sequence[str]) -> pa.Table | None:
        """The rows in any order, as DuckDB gives them; None when no file can hold any.

        Args:
            name: table.
            place: its version.
            column: the first one the table is sorted by.
            value: what it is to be.
            wanted: columns to give, declared ones.

        Raises:
            UsageError: the table is not sorted by this column.
            duckdb.Error: a file cannot be read, or is from before one of the columns was added.
        """
        spec = TABLES[name]
        if (spec.sort_by or spec.key)[0] != column or spec.partition_by:
            raise UsageError(f"table {name} is not sorted by {column!r} first; ask for it with SQL")
        files = [file.path for file in self._of(place, column) if file.may_hold(value)]
        if not files:
            return None
        columns = ", ".join(quote(each) for each in wanted)
        found = self._engine.cursor({}).execute(
            f"select {columns} from read_parquet($files) where {quote(column)} = $value",  # noqa: S608 - declared names
            {"files": files, "value": value},
        )
        return found.to_arrow_table()

    def _of(self, place: Place, column: str) -> list[_File]:
        key = (place, column)
        with self._lock:
            if key in self._files:
                self._files.move_to_end(key)
                return self._files[key]
        found = _files(place, column)
        with self._lock:
            self._files[key] = found
            while len(self._files) > _KEPT:
                self._files.popitem(last=False)
        return found


def _files(place: Place, column: str) -> list[_File]:
    table = DeltaTable(str(place.path), version=place.version)
    actions = pa.table(table.get_add_actions(flatten=True))

    def ends(which: str) -> list[Json]:
        name = f"{which}.{column}"
        return actions[name].to_pylist() if name in actions.column_names else [None] * actions.num_rows

    def cut(end: Json) -> str | None:
        return end[:_PREFIX] if isinstance(end, str) else None

    uris = [str(place.path / path) for path in actions["path"].to_pylist()]
    rows = actions["num_records"].to_pylist()
    columns = zip(uris, ends("min"), ends("max"), ends("null_count"), rows, strict=True)
    return [
        _File(uri, cut(low), cut(high)) for uri, low, high, nulls, count in columns if nulls is None or nulls != count
    ]


POINTS: Final = PointReads()
"""One for the whole process, as is the DuckDB instance it runs on."""
