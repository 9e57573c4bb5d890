"""Compaction: few files instead of many, and removal of files that no snapshot needs.

Belongs here: upkeep that changes no row. Does not belong here: removing rows on purpose (`forget`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from lake import snapshots
from lake.durable import file_lock
from lake.errors import ReplayError
from lake.ids import Json
from lake.schema import TABLES
from lake.spool import effects_forbidden
from lake.store import writer

if TYPE_CHECKING:
    from lake.lake import Lake


@dataclass(frozen=True)
class TableCompaction:
    """What was done to one table."""

    table: str
    files_before: int
    files_after: int
    files_removed: int
    """Files of versions that no snapshot names."""


@dataclass(frozen=True)
class Compaction:
    """What was done."""

    tables: tuple[TableCompaction, ...]

    def to_json(self) -> Json:
        """As plain data."""
        return asdict(self)


def compact(lake: Lake, names: Iterable[str] = TABLES, *, vacuum: bool = False, keep_hours: int = 168) -> Compaction:
    """Merge small files; with `vacuum`, remove files that only unnamed old versions hold.

    Every version a snapshot names stays readable, and so does every version of the last `keep_hours`.

    Args:
        lake: the lake. Readers and writers may go on meanwhile.
        names: tables.
        vacuum: whether to remove anything.
        keep_hours: age from which unnamed files may go.
    """
    if effects_forbidden.get():
        raise ReplayError("a projection tried to compact the lake; projections must be pure functions of the log")
    done: list[TableCompaction] = []
    named = [json.loads(row["versions"]) for row in snapshots.listing(lake.now())]
    for name in names:
        with file_lock(lake.root / "locks" / f"compact.{name}.lock"):
            table = lake.store.delta(name)
            before = len(table.file_uris())
            if before > 1:
                table.optimize.compact(writer_properties=writer(name))
            removed = 0
            if vacuum:
                keep = sorted({versions[name] for versions in named if name in versions} | {table.version()})
                # Not a full one: only files the Delta log says are gone, never those of a writer at work.
                gone = table.vacuum(keep_hours, dry_run=False, enforce_retention_duration=False, keep_versions=keep)
                removed = len(gone)
            done.append(TableCompaction(name, before, len(lake.store.delta(name).file_uris()), removed))
    return Compaction(tuple(done))
