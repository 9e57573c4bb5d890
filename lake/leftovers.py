"""Bytes that no version of the lake names any more: old files of tables, and what killed processes left behind.

Belongs here: which files those are, and removing them (for `forget`). Does not belong here: rows; upkeep that keeps
every snapshot readable (`compact`).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from lake.durable import file_lock
from lake.files import paths_of
from lake.projection import Projection
from lake.store import Store

UNFINISHED_HOURS: Final = 1
"""Age from which a file that no commit names is taken for that of a dead writer: no append lasts so long."""

_SCRATCH: Final = ("scratch", "replay")
"""Folders for work in progress; what a killed process leaves there nobody reads again."""


def remove_objects(root: Path, shas: Iterable[str]) -> None:
    """Remove the files of contents that were too large for a row, finished or not."""
    for sha in shas:
        for path in (root / "objects" / sha[:2]).glob(f"{sha}*"):
            path.unlink(missing_ok=True)


def attempt_folder(root: Path, attempt_id: str) -> Path:
    """Where an attempt writes until its logs are in the lake."""
    return root / "attempts" / attempt_id


def remove_attempts(root: Path, attempts: Iterable[str]) -> None:
    """Remove the folders of attempts, where they are still there: an ingest killed at its end leaves them."""
    for attempt_id in attempts:
        shutil.rmtree(attempt_folder(root, attempt_id), ignore_errors=True)


def wipe(store: Store, log: Sequence[str], projections: Sequence[Projection]) -> int:
    """Remove every file that the current version of a table does not need, and all work in progress.

    Nobody builds meanwhile, so any other file of a projection's table is a leftover. Tables of the log may be written
    at any time: there a file that no commit names goes when it is too old to be that of a living writer.

    Args:
        store: the tables.
        log: tables of the log.
        projections: their tables are wiped too.

    Returns:
        How many files of the log's tables no commit names and yet stay, being too young.
    """
    for name in log:
        _vacuum(store, name, full_hours=UNFINISHED_HOURS)
    locks = [f"build.{projection.name}.lock" for projection in projections]
    locks += [f"compact.{name}.lock" for projection in projections for name in projection.outputs]
    with ExitStack() as held:
        for lock in sorted(locks):
            held.enter_context(file_lock(store.root / "locks" / lock))
        for projection in projections:
            for name in projection.outputs:
                _vacuum(store, name, full_hours=0)
        if projections:
            for folder in _SCRATCH:
                shutil.rmtree(store.root / folder, ignore_errors=True)
    return sum(len(unnamed(store, name)) for name in log)


def _vacuum(store: Store, name: str, *, full_hours: int) -> None:
    """Remove what the Delta log says is gone, and from an age on what it does not know of."""
    for hours, full in ((0, False), (full_hours, True)):
        table = store.delta(name)
        table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=full, keep_versions=[table.version()])
    shutil.rmtree(store.path(name) / "_change_data", ignore_errors=True)


def unnamed(store: Store, name: str) -> list[Path]:
    """Data files in a table's folder that its current version does not name."""
    started = time.time()
    folder = store.path(name)
    there = sorted(path for path in folder.rglob("*.parquet") if path.relative_to(folder).parts[0] != "_delta_log")
    named = set(paths_of(store.delta(name)))
    return [path for path in there if str(path) not in named and path.stat().st_mtime <= started]
