"""Projections: pure functions of the log that write tables, and the rule that decides when to run one.

Belongs here: the contract (`Projection`, `View`) and its runner. Does not belong here: any concrete projection
(each lives in its stage), effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from lake import crash
from lake.digest import table_digest
from lake.errors import LakeError
from lake.ids import Json, canonical, sha256_hex
from lake.reader import Event, Reader
from lake.schema import TABLES
from lake.spool import effects_forbidden
from lake.store import Store

if TYPE_CHECKING:
    from lake.lake import Lake


_KEEPING_CONTENT = ("OPTIMIZE", "ADD COLUMN", "SET TBLPROPERTIES", "VACUUM START", "VACUUM END")
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
    build: Callable[[View], Mapping[str, pa.Table]] = field(repr=False)
    """Gives a table for each output. Must be deterministic; may not touch the clock, the disk or the network."""
    raw: bool = False
    """Whether it reads `raw_records`."""
    tables: tuple[str, ...] = ()
    """Earlier tables it reads."""


@dataclass(frozen=True)
class Built:
    """Outcome of one build."""

    projection: str
    skipped: bool
    rows: Mapping[str, int]
    digests: Mapping[str, str]


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

    def blob(self, sha256: str) -> bytes:
        """Content of one blob; use `blobs` for several."""
        return self._reader.blob(sha256)

    def blobs(self, wanted: Iterable[str]) -> dict[str, bytes]:
        """Contents of blobs by sha256, in few queries."""
        return self._reader.blobs(wanted)


def fingerprint(lake: Lake, projection: Projection) -> str:
    """Digest of all that a build depends on: rule version, counts of its events and raw records, earlier digests."""
    counts = lake.event_counts(projection.events)
    inputs: dict[str, Json] = {
        "projection": [projection.name, projection.version],
        "schema": {name: sha256_hex(str(TABLES[name].arrow)) for name in projection.outputs},
        "events": counts,
        "raw": lake.raw_fingerprint() if projection.raw else None,
        "tables": {name: lake.build_record(name).get("digest") for name in projection.tables},
    }
    return sha256_hex(canonical(inputs))


def build(lake: Lake, projection: Projection, *, force: bool = False) -> Built:
    """Bring a projection's tables up to date; does nothing when its inputs did not change.

    Raises:
        LakeError: the projection gave other tables than it declares, or rows that break the schema or the key.
    """
    inputs = fingerprint(lake, projection)
    records = {name: lake.build_record(name) for name in projection.outputs}
    if not force and all(record.get("inputs") == inputs for record in records.values()):
        return Built(
            projection.name,
            True,
            {name: int(record["rows"]) for name, record in records.items()},
            {name: str(record["digest"]) for name, record in records.items()},
        )
    token = effects_forbidden.set(True)
    try:
        tables = projection.build(View(lake, projection))
    finally:
        effects_forbidden.reset(token)
    if set(tables) != set(projection.outputs):
        raise LakeError(f"projection {projection.name} gave {sorted(tables)} but declares {sorted(projection.outputs)}")
    digests: dict[str, str] = {}
    for name, rows in tables.items():
        ordered = conform(name, rows)
        digests[name] = table_digest(name, ordered)
        metadata = {
            "clawgym.projection": f"{projection.name}@{projection.version}",
            "clawgym.inputs": inputs,
            "clawgym.digest": digests[name],
            "clawgym.rows": str(ordered.num_rows),
        }
        crash.point("build.before_write")
        lake.store.overwrite(name, ordered, metadata)
        crash.point("build.after_write")
    return Built(projection.name, False, {n: t.num_rows for n, t in tables.items()}, digests)


def conform(name: str, rows: pa.Table) -> pa.Table:
    """Rows cast to the declared schema and sorted; checks nullability and the key.

    Raises:
        LakeError: a null where none may be, a repeated key, or a missing column.
    """
    spec = TABLES[name]
    try:
        table = rows.select(spec.arrow.names).cast(spec.arrow)
    except (KeyError, ValueError, pa.ArrowInvalid) as error:
        raise LakeError(
            f"rows for table {name} do not fit its schema: {error}; see lake/schema/{spec.stage}.py"
        ) from error
    for column in spec.columns:
        if not column.nullable and table.column(column.name).null_count:
            raise LakeError(f"table {name}: column {column.name} holds {table.column(column.name).null_count} nulls")
    keys = table.group_by(list(spec.key)).aggregate([([], "count_all")])
    if keys.num_rows != table.num_rows:
        raise LakeError(f"table {name}: key {spec.key} is not unique ({table.num_rows} rows, {keys.num_rows} keys)")
    return table.sort_by([(column, "ascending") for column in (spec.sort_by or spec.key)])


def rows_table(name: str, rows: list[dict[str, Json]]) -> pa.Table:
    """An Arrow table in the declared schema of `name` from row dicts (missing keys are null)."""
    return pa.Table.from_pylist(rows, schema=TABLES[name].arrow)


def build_record(store: Store, name: str, version: int) -> dict[str, Json]:
    """How the content of a table at a Delta version was built; empty when it never was, or its log was cleaned up."""
    for at in range(version, -1, -1):
        info = store.commit_info(name, at)
        if "clawgym.inputs" in info:
            return {key: info[f"clawgym.{key}"] for key in ("inputs", "digest", "rows", "projection")}
        if not info or info.get("operation") not in _KEEPING_CONTENT:
            return {}
    return {}
