"""Projections: pure functions of the log that write tables, and the rule that decides when to run one.

Belongs here: the contract (`Projection`, `View`) and its runner. Does not belong here: any concrete projection
(each lives in its stage), effects.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from lake import crash
from lake.digest import table_digest
from lake.errors import LakeError
from lake.ids import Json, canonical, sha256_hex
from lake.schema import TABLES
from lake.spool import effects_forbidden

if TYPE_CHECKING:
    from lake.lake import Lake


@dataclass(frozen=True)
class Event:
    """One event of the log, payload decoded."""

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

    def __init__(self, lake: Lake, projection: Projection) -> None:
        self._lake, self._projection = lake, projection

    def events(self, *types: str) -> Iterator[Event]:
        """Events of the given (declared) types, or of all declared ones, by stream and seq."""
        wanted = types or self._projection.events
        undeclared = set(wanted) - set(self._projection.events)
        if undeclared:
            raise LakeError(f"projection {self._projection.name} reads undeclared event types {sorted(undeclared)}")
        return self._lake.events(*wanted)

    def table(self, name: str) -> pa.Table:
        """An earlier table, whole."""
        if name not in self._projection.tables:
            raise LakeError(f"projection {self._projection.name} reads undeclared table {name}")
        return self._lake.table(name)

    def raw_records(self, where: str = "true", params: list[Json] | None = None) -> pa.Table:
        """Raw records by an SQL condition, ordered by (source_id, version, position)."""
        if not self._projection.raw:
            raise LakeError(f"projection {self._projection.name} does not declare raw=True")
        return self._lake.raw_records(where, params)

    def blob(self, sha256: str) -> bytes:
        """Content of a blob."""
        return self._lake.blob(sha256)


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
        lake.forget_build_record(name)
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


def parse_metadata(history: list[dict[str, Json]]) -> dict[str, Json]:
    """The build metadata of the latest overwrite in a Delta history, or an empty dict."""
    for entry in history:
        if "clawgym.inputs" in entry:
            return {
                "inputs": entry["clawgym.inputs"],
                "digest": entry["clawgym.digest"],
                "rows": entry["clawgym.rows"],
                "projection": entry["clawgym.projection"],
            }
        if isinstance(entry.get("userMetadata"), str) and "clawgym.inputs" in entry["userMetadata"]:
            return parse_metadata([json.loads(entry["userMetadata"])])
    return {}
