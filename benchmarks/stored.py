"""The same sessions stored by us and by inspect_scout, for the jobs that ask the two.

Belongs here: what `reingest_unchanged`, `point_read` and `corpus_text` start from. Does not belong here: measuring.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import lake
from assets import logs, trajectories
from assets.logs import ingest_paths
from assets.profile import Profile
from assets.stage import Context
from benchmarks.conformance.peers import PeerUnavailableError
from benchmarks.peers import INSPECT_SCOUT, ask, title
from benchmarks.sessions import write_sessions
from lake import Lake


@dataclass(frozen=True)
class Stored:
    """Sessions in both."""

    folder: Path
    """Session files."""
    lake: Lake
    database: Path
    """The peer's."""
    peer_is: str
    there: bool
    """Whether the peer could be installed and filled; `peer_is` says why not."""


def store(workdir: Path, sessions: int, *, cleaned: bool = True, peer: bool = True) -> Stored:
    """Write session files and store them on both sides."""
    folder, database = workdir / "openclaw", workdir / "scout"
    write_sessions(folder, sessions)
    opened = lake.open(workdir / "lake")
    ingest_paths(Context(lake=opened, profile=Profile()), [folder])
    if cleaned:
        for stage in (logs.STAGE, trajectories.STAGE):
            opened.build(stage.projection)
    if not peer:
        return Stored(folder, opened, database, "not run at this size", False)
    try:
        ask(INSPECT_SCOUT, "store", folder, database)
    except PeerUnavailableError as error:
        return Stored(folder, opened, database, f"{title(INSPECT_SCOUT)}: {error}", False)
    return Stored(folder, opened, database, title(INSPECT_SCOUT), True)
