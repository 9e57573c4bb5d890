"""What the writers do, and how the lake looks afterwards: functions that a fork server can import.

The input grows by whole lines, so that its rows are the same whenever they were taken.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import lake
from assets import logs, trajectories
from assets.logs import ingest, ingest_paths, loading
from assets.profile import Profile
from assets.stage import Context
from benchmarks.sessions import write_sessions
from lake.digest import table_digest
from lake.verify import verify

TABLES: Final = ("raw_records", "blobs", "trajectories", "steps", "tool_calls", "diagnostics", "ledger")
"""Tables whose digests are compared. `sources` says how often a version was stated, which kills may change."""

_ROWS: Final = 150
"""Rows a commit: a few sources share one, and a long one takes several."""


@dataclass(frozen=True)
class Input:
    """Session files below a folder, and what each of them grows to."""

    folder: Path
    grown: dict[Path, bytes]

    @classmethod
    def write(cls, folder: Path, sessions: int, seed: int) -> Input:
        """Short sessions and two long ones, each without its last lines."""
        write_sessions(folder, sessions, turns=4, seed=seed)
        write_sessions(folder, 2, turns=120, seed=seed + 1)
        grown: dict[Path, bytes] = {}
        for path in sorted(folder.rglob("*.jsonl")):
            grown[path] = path.read_bytes()
            lines = grown[path].splitlines(keepends=True)
            path.write_bytes(b"".join(lines[: len(lines) * 2 // 3]))
        return cls(folder, grown)

    def grow(self) -> None:
        """Bring every file to its full length, each at once."""
        for path, content in self.grown.items():
            part = path.with_name(path.name + ".part")
            part.write_bytes(content)
            part.replace(path)


def write(root: Path, folder: Path, point: str | None = None, barrier: Any = None) -> None:
    """One writer: take in what is there and clean it, from whatever state the lake is in.

    Args:
        root: the lake.
        folder: the input.
        point: crash point to die at, see `lake.crash`.
        barrier: to wait at before the first write.
    """
    for module in (loading, ingest):
        vars(module)["BATCH_ROWS"] = _ROWS
    opened = lake.open(root)
    if barrier is not None:
        barrier.wait(60)
    if point is not None:
        os.environ["CLAWGYM_CRASH_AT"] = point
    ingest_paths(Context(opened, Profile()), [folder])
    for stage in (logs.STAGE, trajectories.STAGE):
        opened.build(stage.projection)


@dataclass(frozen=True)
class State:
    """A lake as far as it is to be the same after any kills."""

    digests: dict[str, str]
    sources: list[tuple[Any, ...]]
    records: int
    twice: int
    """Rows whose key another row has."""
    findings: list[str]
    """What `verify` finds."""

    @classmethod
    def of(cls, root: Path) -> State:
        """Read everything."""
        opened = lake.open(root, create=False)
        raw = opened.table("raw_records")
        sources = opened.sql(
            "select source_id, version, records, bytes, sha256, path, seen_paths from sources order by all"
        ).fetchall()
        return cls(
            digests={name: table_digest(name, opened.table(name)) for name in TABLES},
            sources=sources,
            records=raw.num_rows,
            twice=raw.num_rows - len(set(raw["record_key"].to_pylist())),
            findings=[f"{found.check}: {found.subject} {found.detail}" for found in verify(opened).findings],
        )

    def lost(self, undisturbed: State) -> int:
        """Records that the other has and this has not."""
        return max(0, undisturbed.records - (self.records - self.twice))
