"""`clean`: the tables of the stage `trajectories`, loss ledger and all, against agent-trajectory on the same sessions.

The peer turns each session into a list of records; nothing accounts for what it leaves out, and nothing is stored.
"""

from __future__ import annotations

from pathlib import Path

import lake
from assets import logs, trajectories
from assets.logs import ingest_paths
from assets.profile import Profile
from assets.stage import Context
from benchmarks.conformance.peers import PeerUnavailableError, interpreter
from benchmarks.measure import Cost, Result, cost, paired
from benchmarks.peers import AGENT_TRAJECTORY, Said, ask, title
from benchmarks.sessions import write_sessions

SESSIONS = 1000


def run(workdir: Path, runs: int) -> Result:
    """Sessions per CPU-second: from raw records in the lake to written tables, and from files to records in memory."""
    folder = workdir / "openclaw"
    write_sessions(folder, SESSIONS)
    opened = lake.open(workdir / "lake")
    ingest_paths(Context(lake=opened, profile=Profile()), [folder])
    opened.build(logs.STAGE.projection)
    said: list[Said] = []

    def ours() -> Cost:
        return cost(lambda: opened.build(trajectories.STAGE.projection, force=True))

    def peer() -> Cost:
        said.append(ask(AGENT_TRAJECTORY, "clean", folder))
        return said[-1].cost

    peer_is = title(AGENT_TRAJECTORY)
    try:
        interpreter(AGENT_TRAJECTORY)
        there = True
    except PeerUnavailableError as error:
        peer_is, there = f"{peer_is}: {error}", False
    detail: dict[str, float | int | str] = {}
    result = paired(
        "clean", SESSIONS, "sessions per CPU-second", ours, peer if there else None, peer_is=peer_is, runs=runs,
        detail=detail,
    )  # fmt: skip
    detail["records_accounted_for"] = opened.sql("select sum(records) from ledger").fetchall()[0][0]
    if said:
        detail["peer_peak_mb"] = round(max(each.peak_mb for each in said), 1)
    return result
