"""Projections: pure functions of the log that write tables.

Belongs here: the contract (`Projection`, `View`), and what says that inputs changed. Does not belong here: running one
(`building`), any concrete projection (each lives in its stage), effects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import duckdb
import pyarrow as pa

from lake.chunks import RecordKeys, read_chunks
from lake.conform import conform as conform
from lake.digest import ENCODING
from lake.engine import check_read_only, literal
from lake.errors import LakeError, UsageError
from lake.grouping import Grouping
from lake.ids import Json, canonical, sha256_hex
from lake.reader import Event, Params, Reader
from lake.schema import TABLES
from lake.store import Store
from lake.upcast import UPCASTERS

if TYPE_CHECKING:
    from lake.lake import Lake


FORGOTTEN: Final = "source.forgotten"
"""Event after which every projection is built anew: rows went from the log."""

_IMPURE = re.compile(
    r"\b(now|today|random|uuid|gen_random_uuid|get_current_timestamp|current_(?:date|time|timestamp)|transaction_timestamp"
    r"|setseed|getenv|sample|tablesample|nextval)\b",
    re.IGNORECASE,
)

_SAID: Final = "clawgym."
"""Prefix of what a build says in the Delta commit of a table."""

_KEEPING_CONTENT: Final = ("OPTIMIZE", "ADD COLUMN", "SET TBLPROPERTIES", "VACUUM START", "VACUUM END")
"""Delta operations after which a table holds the same rows as before."""


@dataclass(frozen=True)
class Projection:
    """How a stage's tables follow from the log and from earlier tables."""

    name: str
    """The stage word."""
    version: int
    """Raised whenever the same log would give other rows; older tables are then stale."""
    outputs: tuple[str, ...]
    events: tuple[str, ...]
    """Event types it reads."""
    build: Callable[[View], Mapping[str, pa.Table | pa.RecordBatchReader]] = field(repr=False)
    """Gives a table for each output (but those of `grouping`), or a reader of batches where it would not fit in memory.
    Must be deterministic; may not touch the clock, the disk or the network."""
    raw: bool = False
    """Whether it reads `raw_records`."""
    tables: tuple[str, ...] = ()
    """Earlier tables it reads."""
    rules: str = ""
    """Digest of what decides about rows beside `version`, where a stage's rules have versions of their own."""
    grouping: Grouping | None = field(default=None, repr=False)
    """Makes the outputs that `build` does not give, by groups of inputs, and only those whose inputs changed."""

    @property
    def whole(self) -> tuple[str, ...]:
        """The outputs that `build` gives."""
        apart = () if self.grouping is None else (*self.grouping.tables, self.grouping.state)
        return tuple(name for name in self.outputs if name not in apart)


@dataclass(frozen=True)
class Built:
    """Outcome of one build."""

    projection: str
    skipped: bool
    rows: Mapping[str, int]
    digests: Mapping[str, str]
    groups: int | None = None
    """Groups of inputs that were made anew; null for a projection that has none, or when skipped."""


class View:
    """What a projection may see: the declared events, raw records, blobs, and declared earlier tables."""

    def __init__(self, lake: Lake | Reader, projection: Projection) -> None:
        """Args:
        lake: a lake, or one state of it; a build passes the state its record of inputs names.
        projection: says what may be read.
        """
        self._reader = lake if isinstance(lake, Reader) else lake.now()
        self._projection = projection

    def events(self, *types: str) -> Iterator[Event]:
        """Events of the given (declared) types, or of all declared ones, by stream and seq."""
        wanted = types or self._projection.events
        undeclared = set(wanted) - set(self._projection.events)
        if undeclared:
            raise LakeError(f"projection {self._projection.name} reads undeclared event types {sorted(undeclared)}")
        return self._reader.events(*wanted) if wanted else iter(())

    def table(self, name: str) -> pa.Table:
        """An earlier table, whole, ordered by its key (or declared order)."""
        if name not in self._projection.tables:
            raise LakeError(f"projection {self._projection.name} reads undeclared table {name}")
        return self._reader.table(name)

    def raw_records(self, where: str = "true", params: list[Json] | None = None) -> pa.Table:
        """Raw records by an SQL condition, ordered by (source_id, version, position)."""
        if not self._projection.raw:
            raise LakeError(f"projection {self._projection.name} does not declare raw=True")
        return self._reader.raw_records(where, params)

    def raw_chunks(self, chunks: Sequence[RecordKeys], columns: Sequence[str]) -> Iterator[pa.Table]:
        """Raw records of lists of source versions: a table a list, ordered by (source_id, version, position).

        In bounded memory however many lists there are: one table, if each of them fits.
        """
        if not self._projection.raw:
            raise LakeError(f"projection {self._projection.name} does not declare raw=True")
        return read_chunks(self._reader, chunks, columns)

    def sql(self, query: str, params: Params = None) -> pa.Table:
        """Run a query over what is declared: the tables, `events` of the declared types, `raw_records` with raw=True.

        Columns that say when or by which run a record was written are not there. One thread, so that sums of floats
        come out the same every time; rows need an `order by` to have an order.

        Raises:
            LakeError: the query reads what is not declared, or asks for the time or for chance.
        """
        return query_declared(self._reader, query, params, self._projection)

    def blob(self, sha256: str) -> bytes:
        """Content of one blob; use `blobs` for several."""
        return self._reader.blob(sha256)

    def blobs(self, wanted: Iterable[str]) -> dict[str, bytes]:
        """Contents of blobs by sha256, in few queries."""
        return self._reader.blobs(wanted)


def fingerprint(lake: Lake, projection: Projection, reader: Reader | None = None) -> str:
    """Digest of all that a build depends on: rule version, counts of its events and raw records, earlier digests.

    Args:
        lake: the lake.
        projection: the projection.
        reader: the state to look at; the newest where absent.
    """
    state = reader or lake.now()
    earlier = {name: build_record(lake.store, name, state.version(name)) for name in projection.tables}
    inputs: dict[str, Json] = {
        "projection": [projection.name, projection.version, *([projection.rules] if projection.rules else [])],
        "schema": {name: sha256_hex(str(TABLES[name].arrow)) for name in projection.outputs},
        "digest": ENCODING,
        "events": state.event_counts(projection.events) if projection.events else {},
        "raw": state.raw_fingerprint() if projection.raw else None,
        "tables": {name: record.get("digest") for name, record in earlier.items()},
        "forgotten": state.event_counts([FORGOTTEN]),
    }
    return sha256_hex(canonical(inputs))


def rows_table(name: str, rows: list[dict[str, Json]]) -> pa.Table:
    """An Arrow table in the declared schema of `name` from row dicts (missing keys are null)."""
    return pa.Table.from_pylist(rows, schema=TABLES[name].arrow)


def build_record(store: Store, name: str, version: int) -> dict[str, Json]:
    """How the content of a table at a Delta version was built; empty when it never was, or its log was cleaned up."""
    found = last_build(store, name, version)
    return found if "inputs" in found else {}


def last_build(store: Store, name: str, version: int) -> dict[str, Json]:
    """What the commit that wrote the content of a table at a Delta version says of the build, a finished one or not."""
    for at in range(version, -1, -1):
        info = store.commit_info(name, at)
        if not info or info.get("operation") not in _KEEPING_CONTENT:
            said = {key: value for key, value in info.items() if key.startswith(_SAID)}
            return {key.removeprefix(_SAID): value for key, value in said.items()}
    return {}


def query_declared(reader: Reader, query: str, params: Params, projection: Projection) -> pa.Table:
    """Run SQL for a projection; see `View.sql`."""
    try:
        check_read_only(query)
    except UsageError as error:
        raise LakeError(f"projection {projection.name}: {error}") from error
    if found := _IMPURE.search(query):
        raise LakeError(f"projection {projection.name}: SQL may not use {found[0]!r}, it gives other rows each time")
    old = [kind for kind in projection.events if any(kind == upcast for upcast, _ in UPCASTERS)]
    if old and "payload" in query:
        raise LakeError(
            f"projection {projection.name}: SQL sees payloads as stored, but {old[0]} has older shapes; "
            "read it by events()"
        )
    cursor = reader.cursor(projection.tables, "projection")
    if projection.events:
        kinds = ", ".join(literal(kind) for kind in projection.events)
        reader.open_filtered(cursor, "events", "* exclude (recorded_at, run_id)", f"type in ({kinds})")
    if projection.raw:
        reader.open_filtered(cursor, "raw_records", "* exclude (ingested_at)", "true")
    try:
        return cursor.execute(query, params).to_arrow_table()
    except duckdb.Error as error:
        raise LakeError(f"projection {projection.name}: {error}; what it reads must be declared") from error
