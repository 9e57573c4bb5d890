"""`point_read`: the conversation of one session by its id, among 1,000, and inspect_scout's read of one transcript."""

from __future__ import annotations

import json
import random
import statistics
import time
from pathlib import Path

from benchmarks.measure import Cost, Result, paired
from benchmarks.peers import INSPECT_SCOUT, Said, ask
from benchmarks.stored import store

SESSIONS = 1000
READS = 200


def run(workdir: Path, runs: int) -> Result:
    """Reads per second of wall time at the median read."""
    return among(workdir, SESSIONS, runs, name="point_read", peer=True)


def among(workdir: Path, sessions: int, runs: int, *, name: str, peer: bool) -> Result:
    """The same among any number of sessions."""
    stored = store(workdir, sessions, peer=peer)
    ids = [row[0] for row in stored.lake.sql("select distinct session_id from trajectories order by 1").fetchall()]
    wanted = random.Random(7).sample(ids, READS)
    (workdir / "ids.json").write_text(json.dumps(wanted))
    seconds: list[float] = []
    said: list[Said] = []

    def read(session: str) -> float:
        start = time.perf_counter()
        found = stored.lake.point("trajectories", "session_id", session, ["messages"])["messages"].to_pylist()
        spent = time.perf_counter() - start
        if len(found) != 1 or not json.loads(found[0]):
            raise RuntimeError(f"session {session} gave {len(found)} conversations")
        return spent

    def ours() -> Cost:
        read(wanted[0])
        seconds[:] = [read(session) for session in wanted]
        return Cost(0.0, statistics.median(seconds))

    def theirs() -> Cost:
        said.append(ask(INSPECT_SCOUT, "read", stored.folder, stored.database, workdir / "ids.json"))
        return Cost(0.0, said[-1].more["p50_s"])

    detail: dict[str, float | int | str] = {"sessions": sessions, "reads": READS}
    result = paired(
        name, 1, "reads per second at the median, wall", ours, theirs if stored.there else None,
        peer_is=stored.peer_is, runs=runs, by_wall=True, detail=detail,
    )  # fmt: skip
    detail["ours_p50_ms"] = round(1000 / result.ours, 2)
    detail["ours_p95_ms"] = round(1000 * statistics.quantiles(seconds, n=20)[18], 2)
    if said:
        detail["peer_p50_ms"] = round(1000 * statistics.median(each.more["p50_s"] for each in said), 2)
        detail["peer_p95_ms"] = round(1000 * statistics.median(each.more["p95_s"] for each in said), 2)
        detail["peer_peak_mb"] = round(max(each.peak_mb for each in said), 1)
    return result
