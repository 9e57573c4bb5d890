"""Compaction: few files instead of many, and removal of files that no snapshot needs.

Belongs here: upkeep that changes no row. Does not belong here: removing rows on purpose (`forget`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from deltalake.exceptions import CommitFailedError, DeltaError

from lake import snapshots
from lake.durable import file_lock
from lake.errors import LakeError, ReplayError
from lake.ids import Json
from lake.schema import TABLES
from lake.spool import effects_forbidden
from lake.store import writer

if TYPE_CHECKING:
    from lake.lake import Lake

_TRIES: Final = 8
_PAUSE: Final = 0.1
"""Longer by this with each try. Seconds."""


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
        keep_hours: age from which unnamed files may go; 0 takes them from under whoever still reads such a version.

    Raises:
        LakeError: writers overtook each of several tries, or a table cannot be read. No row changed.
    """
    if effects_forbidden.get():
        raise ReplayError("a projection tried to compact the lake; projections must be pure functions of the log")
    done: list[TableCompaction] = []
    named = [json.loads(row["versions"]) for row in snapshots.listing(lake.now())]
    for name in names:
        with file_lock(lake.root / "locks" / f"compact.{name}.lock"):
            done.append(_upkeep(lake, name, named, keep_hours if vacuum else None))
    return Compaction(tuple(done))


def _upkeep(lake: Lake, name: str, named: Sequence[Mapping[str, int]], keep_hours: int | None) -> TableCompaction:
    """One table, anew on its newest version when a writer came between.

    Args:
        lake: the lake.
        name: the table.
        named: versions by table, a mapping a snapshot.
        keep_hours: age from which unnamed files may go; nothing is removed where None.
    """
    before: int | None = None
    removed = 0
    for turn in range(_TRIES):
        time.sleep(_PAUSE * turn)
        try:
            table = lake.store.delta(name)
            files = len(table.file_uris())
            before = files if before is None else before
            if files > 1:
                table.optimize.compact(writer_properties=writer(name))
            if keep_hours is not None:
                keep = sorted({versions[name] for versions in named if name in versions} | {table.version()})
                # Not a full one: only files the Delta log says are gone, never those of a writer at work.
                removed = len(
                    table.vacuum(keep_hours, dry_run=False, enforce_retention_duration=False, keep_versions=keep)
                )
            return TableCompaction(name, before, len(lake.store.delta(name).file_uris()), removed)
        except CommitFailedError as error:
            last = error
        except (DeltaError, OSError) as error:
            raise LakeError(
                f"table {name} in {lake.root} cannot be compacted: {_line(error)}; no row changed"
            ) from error
    raise LakeError(
        f"table {name} in {lake.root}: {_TRIES} compactions in a row were overtaken by a writer ({_line(last)}); "
        "no row changed: try again when fewer write"
    )


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
