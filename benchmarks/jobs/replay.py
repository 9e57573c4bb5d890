"""`replay`: rebuilding every table from the log against reading the same tables once.

A replay has no peer elsewhere (no other system can rebuild its tables from a log), so the yardstick is the cost of one
full read of the tables it rebuilds; the ratio is below 1 by nature and says how many reads a replay costs.
"""

from __future__ import annotations

from pathlib import Path

import lake
from assets.logs import ingest_paths
from assets.profile import Profile
from assets.stage import Context
from benchmarks.measure import Cost, Result, cost, paired
from benchmarks.sessions import write_sessions
from clawgym_dag.stages import STAGES
from lake.replay import replay
from lake.schema import TABLES

SESSIONS = 300
PROJECTIONS = [stage.projection for stage in STAGES]


def run(workdir: Path, runs: int) -> Result:
    """Raw records per CPU-second of a full replay with digest comparison, over a lake of generated sessions."""
    write_sessions(workdir / "openclaw", SESSIONS)
    opened = lake.open(workdir / "lake")
    ingest_paths(Context(lake=opened, profile=Profile()), [workdir / "openclaw"])
    for projection in PROJECTIONS:
        opened.build(projection)
    records = opened.table("raw_records").num_rows

    def ours() -> Cost:
        return cost(lambda: replay(opened, PROJECTIONS))

    def peer() -> Cost:
        return cost(lambda: [opened.table(name) for name in TABLES])

    return paired(
        "replay",
        records,
        "raw records per CPU-second",
        ours,
        peer,
        peer_is="one full read of all tables",
        runs=runs,
        detail={"sessions": SESSIONS},
    )
