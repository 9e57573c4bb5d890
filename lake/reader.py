"""Reading the lake at one state: events, raw records, blobs and tables, each at a pinned version.

Belongs here: every read the rest of the system does. Does not belong here: writing, and where versions come from
(`Lake` gives the current ones, a snapshot's, or a replay's).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from lake.deadline import deadline, require_stoppable
from lake.engine import (
    EngineKind,
    Engines,
    Place,
    called,
    check_read_only,
    create_view,
    mentioned,
    quote,
    view_definitions,
)
from lake.errors import LakeError
from lake.ids import Json
from lake.point import POINTS
from lake.schema import TABLES
from lake.upcast import upcast

_BLOBS_AT_ONCE = 500
"""Digests in one query for blobs: few enough to be pushed into the Parquet scan as a filter."""

_EVENTS = """
select event_id, stream_kind, stream_id, seq, type, type_version, occurred_at, caused_by, actor, payload, payload_blob
from events
where (len($types) = 0 or type in (select unnest($types))) and ($kind is null or stream_kind = $kind)
order by stream_kind, stream_id, seq
"""

Params = Sequence[Json] | Mapping[str, Json] | None


@dataclass(frozen=True)
class Event:
    """One event of the log, payload decoded and in its newest shape."""

    event_id: str
    stream_kind: str
    stream_id: str
    seq: int
    type: str
    type_version: int
    occurred_at: datetime
    caused_by: str | None
    actor: str
    payload: Json


class Reader:
    """The lake at one state. A table's version is fixed when it is first read. Safe to use from several threads."""

    def __init__(self, root: Path, engines: Engines, locate: Callable[[str], Place]) -> None:
        """Args:
        root: the lake's root, below which large blobs lie.
        engines: DuckDB.
        locate: gives the place of a table the first time it is read.
        """
        self.root = root
        self._engines, self._locate = engines, locate
        self._places: dict[str, Place] = {}
        self._lock = threading.Lock()

    def place(self, name: str) -> Place:
        """Folder and version of a table in this state."""
        if name not in TABLES:
            raise KeyError(f"no table {name!r}; there are: {', '.join(TABLES)}")
        with self._lock:
            if name not in self._places:
                self._places[name] = self._locate(name)
            return self._places[name]

    def version(self, name: str) -> int:
        """Delta version of a table in this state."""
        return self.place(name).version

    def cursor(self, names: Iterable[str], engine: EngineKind = "code") -> duckdb.DuckDBPyConnection:
        """A DuckDB cursor that sees exactly these tables."""
        places = {name: self.place(name) for name in names}
        try:
            return self._engines.get(engine).cursor(places)
        except duckdb.Error as error:
            raise LakeError(f"tables of {self.root} cannot be opened: {error}; run `clawgym lake verify`") from error

    def open_filtered(self, cursor: duckdb.DuckDBPyConnection, name: str, columns: str, where: str) -> None:
        """Show a projection's cursor part of a table, under the table's name."""
        self._engines.get("projection").open(cursor, name, self.place(name), columns, where)

    def sql(self, query: str, params: Params = None, *, read_only: bool = False) -> duckdb.DuckDBPyRelation:
        """Run a query over all tables and the views of `sql/views`; opens only those it mentions.

        Args:
            params: a list for `$1` …, or a mapping for `$name`.
            read_only: allow queries only, that reach no file outside the lake and change no setting.

        Raises:
            UsageError: `read_only`, and it is not a query.
        """
        if read_only:
            check_read_only(query)
        return self._related(query, params, "person" if read_only else "code", lambda cursor: None)

    def answer(self, query: str, *, limit: int, seconds: float) -> tuple[pa.Table, bool]:
        """Rows of a query that a person typed, as `sql` with `read_only`, bounded in number and time.

        Args:
            query: SQL.
            limit: most rows.
            seconds: most time.

        Returns:
            The rows, and whether there were more.

        Raises:
            UsageError: it is not a query, calls what cannot be stopped, or was not done in time.
            duckdb.Error: it does not run.
        """
        check_read_only(query)
        require_stoppable(called(query))
        with deadline(seconds) as limits:
            found = self._related(query, None, "person", limits.watch).limit(limit + 1).to_arrow_table()
        return found.slice(0, limit), found.num_rows > limit

    def _related(
        self, query: str, params: Params, engine: EngineKind, opened: Callable[[duckdb.DuckDBPyConnection], None]
    ) -> duckdb.DuckDBPyRelation:
        """The relation of a query; `opened` is told of each cursor before anything runs on it."""
        definitions = view_definitions()
        known = set(TABLES) | set(definitions)
        wanted = mentioned(query, known, definitions)
        try:
            return self._relation(query, params, wanted, definitions, engine, opened)
        except duckdb.CatalogException:
            if wanted == known:
                raise
            return self._relation(query, params, known, definitions, engine, opened)

    def _relation(
        self,
        query: str,
        params: Params,
        wanted: set[str],
        definitions: Mapping[str, str],
        engine: EngineKind,
        opened: Callable[[duckdb.DuckDBPyConnection], None],
    ) -> duckdb.DuckDBPyRelation:
        cursor = self.cursor([name for name in TABLES if name in wanted], engine)
        opened(cursor)
        for name, definition in definitions.items():
            if name in wanted:
                create_view(cursor, name, definition)
        return cursor.sql(query, params=params)

    def batches(self, name: str, size: int = 512) -> Iterator[pa.RecordBatch]:
        """A whole table in its declared columns and types, in no order, in bounded memory.

        Args:
            name: table.
            size: rows at a time.
        """
        with self._reading(name):
            reader = self.cursor([name]).execute(f"select * from {quote(name)}").to_arrow_reader(size)  # noqa: S608 - a name of the schema
            for batch in reader:
                rows = declared(name, pa.Table.from_batches([batch]), f"at version {self.version(name)}")
                yield from rows.to_batches()

    def table(self, name: str) -> pa.Table:
        """A whole table, in its declared columns, types and order."""
        spec = TABLES[name]
        order = ", ".join(quote(column) for column in spec.sort_by or spec.key)
        query = f"select * from {quote(name)} order by {order}"  # noqa: S608 - names of the schema
        with self._reading(name):
            rows = self.cursor([name]).execute(query).to_arrow_table()
        return declared(name, rows, f"at version {self.version(name)}")

    def point(self, name: str, column: str, value: str, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of a table that have one value in the column it is sorted by, in key order; takes milliseconds.

        Args:
            name: table.
            column: the first one of its declared order.
            value: what it is to be.
            columns: what to give; all columns where absent.

        Raises:
            UsageError: the table is not sorted by this column.
        """
        spec = TABLES[name]
        wanted = list(columns or spec.arrow.names)
        read = [*wanted, *(each for each in spec.key if each not in wanted)]
        with self._reading(name):
            try:
                found = POINTS.read(name, self.place(name), column, value, read)
                rows = spec.arrow.empty_table().select(read) if found is None else found
            except (duckdb.BinderException, duckdb.InvalidInputException):  # files from before a column was added
                query = f"select * from {quote(name)} where {quote(column)} = $value"  # noqa: S608 - names of the schema
                every = self.cursor([name]).execute(query, {"value": value}).to_arrow_table()
                rows = declared(name, every, f"at version {self.version(name)}").select(read)
        rows = rows.cast(pa.schema([spec.arrow.field(each).with_nullable(True) for each in read]))
        return (rows.sort_by([(each, "ascending") for each in spec.key]) if len(rows) > 1 else rows).select(wanted)

    def rows(self, name: str) -> list[dict[str, Json]]:
        """A whole (small) table as dicts."""
        found: list[dict[str, Json]] = self.table(name).to_pylist()
        return found

    def events(self, *types: str, stream_kind: str | None = None) -> Iterator[Event]:
        """Events by type (all when none is given), ordered by (stream_kind, stream_id, seq)."""
        cursor = self.cursor(["events"])
        with self._reading("events"):
            cursor.execute(_EVENTS, {"types": list(types), "kind": stream_kind})
        return self._decode(cursor)

    def _decode(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[Event]:
        while rows := cursor.fetchmany(4096):
            large = self.blobs(row[10] for row in rows if row[9] is None)
            for row in rows:
                text = row[9] if row[9] is not None else large[row[10]].decode("utf-8", "surrogatepass")
                version, payload = upcast(row[4], row[5], json.loads(text))
                yield Event(
                    row[0], row[1], row[2], row[3], row[4], version, row[6].astimezone(UTC), row[7], row[8], payload,
                )  # fmt: skip

    def streams(self, kind: str, terminal: Sequence[str] = ()) -> set[str]:
        """Ids of the streams of a kind that are in the log; with `terminal`, only those holding such an event type.

        This is how an effect finds out that it was done: it never repeats a key that is in here.
        """
        query = (
            "select distinct stream_id from events where stream_kind = $kind"
            " and (len($terminal) = 0 or type in (select unnest($terminal)))"
        )
        return {row[0] for row in self.fetch("events", query, {"kind": kind, "terminal": list(terminal)})}

    def event_counts(self, types: Sequence[str]) -> dict[str, int]:
        """Number of events of each type."""
        query = "select type, count(*) from events where type in (select unnest($types)) group by type order by type"
        return dict(self.fetch("events", query, {"types": list(types)}))

    def raw_records(self, where: str = "true", params: Sequence[Json] | None = None) -> pa.Table:
        """Raw records by an SQL condition over `raw_records`, ordered by (source_id, version, position)."""
        query = f"select * from raw_records where {where} order by source_id, version, position"  # noqa: S608 - code, not input
        with self._reading("raw_records"):
            rows = self.cursor(["raw_records"]).execute(query, list(params or ())).to_arrow_table()
        return declared("raw_records", rows, f"at version {self.version('raw_records')}")

    def raw_fingerprint(self) -> list[Json]:
        """Number of raw records and of source versions; changes whenever either grows."""
        query = "select count(*), count(distinct (source_id, version)) from raw_records"
        return list(self.fetch("raw_records", query)[0])

    def fetch(self, name: str, query: str, params: Params = None) -> list[tuple[Json, ...]]:
        """All rows of a query over one table.

        Raises:
            LakeError: the table cannot be read.
        """
        with self._reading(name):
            return self.cursor([name]).execute(query, params).fetchall()

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (duckdb.IOException, duckdb.InvalidInputException, duckdb.SerializationException) as error:
            first = str(error).splitlines()[0]
            raise LakeError(
                f"table {name} at version {self.version(name)} of {self.root} cannot be read: {first}; "
                "run `clawgym lake verify`"
            ) from error

    def blob(self, sha256: str) -> bytes:
        """Content of a blob.

        Raises:
            LakeError: the log does not hold it.
        """
        return self.blobs([sha256])[sha256]

    def blobs(self, wanted: Iterable[str]) -> dict[str, bytes]:
        """Contents of blobs in the order of their sha256, in few queries.

        Raises:
            LakeError: the log does not hold one of them.
        """
        shas = sorted(set(wanted))
        found: dict[str, bytes] = {}
        for start in range(0, len(shas), _BLOBS_AT_ONCE):
            part = shas[start : start + _BLOBS_AT_ONCE]
            marks = ", ".join(f"${i + 1}" for i in range(len(part)))
            query = f"select sha256, data, object_path from blobs where sha256 in ({marks})"  # noqa: S608 - marks only
            for sha, data, path in self.fetch("blobs", query, part):
                found[sha] = bytes(data) if data is not None else self._object(sha, path)
        missing = [sha for sha in shas if sha not in found]
        if missing:
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            raise LakeError(
                f"blob {missing[0]}{more} is not in {self.root}; was it forgotten? see `clawgym lake status`"
            )
        return {sha: found[sha] for sha in shas}

    def _object(self, sha: str, path: str) -> bytes:
        try:
            return (self.root / "objects" / path).read_bytes()
        except OSError as error:
            raise LakeError(f"blob {sha} has no object file: {error}; run `clawgym lake verify`") from error


def declared(name: str, rows: pa.Table, where: str) -> pa.Table:
    """Rows as DuckDB gave them, in the declared columns and types; a column added since is null."""
    spec = TABLES[name]
    columns: list[pa.ChunkedArray] = []
    fields: list[pa.Field] = []
    for field in spec.arrow:
        if field.name in rows.column_names:
            columns.append(rows.column(field.name))
            fields.append(field if rows.column(field.name).null_count == 0 else field.with_nullable(True))
        else:
            columns.append(pa.nulls(rows.num_rows, field.type))
            fields.append(field.with_nullable(True))
    try:
        return pa.table(columns, names=spec.arrow.names).cast(pa.schema(fields))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise LakeError(f"table {name} {where} does not fit its declared schema: {error}") from error
