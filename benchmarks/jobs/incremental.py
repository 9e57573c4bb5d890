"""`incremental`: bringing the trajectories up to date with 1 % more sessions, against making them all.

25,000 sessions, 1.2 M records, 2.7 GB of logs; then 250 new ones. Run only when named. Each build runs in a process of
its own, so that its CPU time and peak memory are its own; that both end in the same tables is what the tests show.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import lake
from assets import logs, rollouts, trajectories
from assets.logs import ingest_paths
from assets.profile import Profile
from assets.stage import Context
from benchmarks.measure import Cost, Result, cost, peak_memory
from benchmarks.sessions import write_sessions

SESSIONS = 25_000
MORE = 250
WORDS = 1000


def run(workdir: Path, runs: int) -> Result:
    """Sessions of the lake per CPU-second of either build; one run."""
    root = workdir / "lake"
    records = _take_in(root, workdir / "openclaw", SESSIONS, seed=7)
    whole, whole_peak, _ = _apart(root)
    _take_in(root, workdir / "more", MORE, seed=8)
    part, part_peak, groups = _apart(root)
    if groups != MORE:
        raise RuntimeError(f"{groups} groups were made for {MORE} new sessions")
    return Result(
        name="incremental",
        n=SESSIONS,
        unit="sessions of the lake per CPU-second",
        ours=round(SESSIONS / part.cpu_s, 1),
        peer=round(SESSIONS / whole.cpu_s, 1),
        peer_is="the full build",
        ratio=round(whole.cpu_s / part.cpu_s, 1),
        runs=1,
        detail={
            "records": records,
            "new_sessions": MORE,
            "full_cpu_s": round(whole.cpu_s, 2),
            "incremental_cpu_s": round(part.cpu_s, 2),
            "share": round(part.cpu_s / whole.cpu_s, 4),
            "full_peak_mb": whole_peak,
            "incremental_peak_mb": part_peak,
        },
    )


def _take_in(root: Path, folder: Path, sessions: int, *, seed: int) -> int:
    records = write_sessions(folder, sessions, seed=seed, words=WORDS)
    ingest_paths(Context(lake=lake.open(root), profile=Profile()), [folder])
    return records


def _apart(root: Path) -> tuple[Cost, int, int | None]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_build, root).result()


def _build(root: Path) -> tuple[Cost, int, int | None]:
    """What building the stage cost, the peak memory of this process in MiB, and the groups it made."""
    opened = lake.open(root)
    for stage in (rollouts.STAGE, logs.STAGE):
        opened.build(stage.projection)
    made: list[int | None] = []
    spent = cost(lambda: made.append(opened.build(trajectories.STAGE.projection).groups))
    return spent, peak_memory() // 1024**2, made[0]
