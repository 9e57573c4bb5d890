"""Status: how large the lake is, what it holds, what waits.

Belongs here: figures. Does not belong here: judging them (`verify`, `replay`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lake import snapshots
from lake.ids import Json
from lake.projection import Projection
from lake.replay import in_order, why_stale
from lake.schema import TABLES
from lake.spool import is_orphan, spool_folders, takeable

if TYPE_CHECKING:
    from lake.lake import Lake


@dataclass(frozen=True)
class TableStatus:
    """One table."""

    table: str
    kind: str
    rows: int
    files: int
    bytes: int
    """Of the files of the present version."""
    bytes_on_disk: int
    """With the files of older versions, kept for `--as-of`, and the Delta log."""
    version: int
    built_by: str | None
    """projection@version; null for the log and for what was never built."""
    stale: str | None
    """Why it is not what its present rules would give; empty when it is; null when no projection was given."""


@dataclass(frozen=True)
class SourceStatus:
    """Raw records of one kind of source."""

    source_kind: str
    sources: int
    records: int
    bytes: int


@dataclass(frozen=True)
class SpoolStatus:
    """What is not in the log yet."""

    spools: int
    orphans: int
    """Spools whose owner died: the next commit takes all of them."""
    segments: int
    """Sealed or abandoned segments that the next commit takes."""
    bytes: int


@dataclass(frozen=True)
class Status:
    """The whole lake."""

    root: str
    tables: tuple[TableStatus, ...]
    sources: tuple[SourceStatus, ...]
    blobs: int
    blob_bytes: int
    snapshots: int
    last_snapshot: str | None
    spool: SpoolStatus

    def to_json(self) -> Json:
        """As plain data."""
        return asdict(self)


def status(lake: Lake, projections: Iterable[Projection] = ()) -> Status:
    """Figures of the lake as it stands.

    Args:
        lake: the lake.
        projections: the present rules; with them, tables say whether they are stale.
    """
    reader = lake.now()
    stale: dict[str, str] = {}
    for projection in in_order(list(projections)):
        reason = why_stale(lake, projection, reader, {name for name, why in stale.items() if why})
        stale.update(dict.fromkeys(projection.outputs, reason))
    taken = snapshots.listing(reader)
    blobs = reader.cursor(["blobs"]).execute("select count(*), coalesce(sum(size), 0) from blobs").fetchone() or (0, 0)
    return Status(
        root=str(lake.root),
        tables=tuple(_table(lake, name, reader.version(name), stale.get(name)) for name in TABLES),
        sources=tuple(
            SourceStatus(*row)
            for row in reader.cursor(["raw_records"])
            .execute(
                "select source_kind, count(distinct source_id), count(*), sum(raw_size)::bigint"
                " from raw_records group by source_kind order by source_kind"
            )
            .fetchall()
        ),
        blobs=int(blobs[0]),
        blob_bytes=int(blobs[1]),
        snapshots=len(taken),
        last_snapshot=taken[-1]["snapshot_id"] if taken else None,
        spool=spool_status(lake.root),
    )


def _table(lake: Lake, name: str, version: int, stale: str | None) -> TableStatus:
    actions = lake.store.delta(name, version).get_add_actions()
    files = {column: actions.column(column).to_pylist() for column in ("num_records", "size_bytes")}
    return TableStatus(
        table=name,
        kind=TABLES[name].kind,
        rows=sum(files["num_records"]),
        files=len(files["size_bytes"]),
        bytes=sum(files["size_bytes"]),
        bytes_on_disk=_size(lake.store.path(name)),
        version=version,
        built_by=lake.build_record(name).get("projection"),
        stale=stale,
    )


def spool_status(root: Path) -> SpoolStatus:
    """What waits in the spool folder."""
    spools = orphans = segments = size = 0
    for spool in spool_folders(root):
        abandoned = is_orphan(spool)
        spools += 1
        orphans += abandoned
        segments += len(takeable(spool, abandoned=abandoned))
        size += _size(spool)
    return SpoolStatus(spools, orphans, segments, size)


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
    return total
