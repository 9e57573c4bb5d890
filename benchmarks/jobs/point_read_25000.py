"""`point_read_25000`: the same among 25,000 sessions (1.2 GB of logs); run only when named, without the peer."""

from __future__ import annotations

from pathlib import Path

from benchmarks.jobs.point_read import among
from benchmarks.measure import Result

SESSIONS = 25_000


def run(workdir: Path, runs: int) -> Result:
    """Reads per second of wall time at the median read."""
    return among(workdir, SESSIONS, runs, name="point_read_25000", peer=False)
