"""`python -m benchmarks.soak [--kills N] [--minutes M] [--seed S]`: kill writers at random until N kills, and compare.

Exit code 1 when anything was lost, came in twice or differs from the undisturbed run.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from benchmarks.soak.workload import Input, State, write
from lake import crash
from lake.ids import utc_now

RESULT: Final = Path(__file__).parents[1] / "results" / "soak.json"
POINTS: Final = tuple(p for p in crash.POINTS if not p.startswith("rollout.") and p != "spool.after_blob")
"""Crash points that ingest and cleaning pass."""

_PER_TRIAL: Final = 10
_SESSIONS: Final = 16
_SLOWEST_S: Final = 120.0
_PROCESSES: Final = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Trial:
    """One lake, filled under fire."""

    writers: int
    kills: dict[str, int]
    """By crash point; `any moment` for kills from outside."""
    records: int
    lost: int
    twice: int
    equal: bool
    """Whether all digests are those of the undisturbed run."""
    findings: list[str]
    seconds: float

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return self.equal and not self.lost and not self.twice and not self.findings


class Writers:
    """So many writers of one lake at a time, each replaced when it ends."""

    def __init__(self, root: Path, folder: Path, count: int, rng: random.Random) -> None:
        self._root, self._folder, self._rng = root, folder, rng
        self._running: list[tuple[BaseProcess, str | None]] = [self._start() for _ in range(count)]
        self.kills: Counter[str] = Counter()

    def _start(self) -> tuple[BaseProcess, str | None]:
        point = self._rng.choice(POINTS) + f":{self._rng.choice((1, 1, 2, 3, 7))}" if self._rng.random() < 0.5 else None
        process = _PROCESSES.Process(target=write, args=(self._root, self._folder, point), daemon=True)
        process.start()
        return process, point

    def strike(self) -> None:
        """After a random while kill a random writer; those that ended or died by themselves are replaced too."""
        time.sleep(self._rng.uniform(0, 0.8))
        victim, point = self._rng.choice(self._running)
        if point is None and victim.pid is not None and victim.is_alive():
            os.kill(victim.pid, signal.SIGKILL)
            victim.join()
            if victim.exitcode == -signal.SIGKILL:
                self.kills["any moment"] += 1
                self._replace(victim)
        for process, planned in list(self._running):
            if not process.is_alive():
                self._ended(process, planned)
                self._replace(process)

    def _ended(self, process: BaseProcess, point: str | None) -> None:
        if process.exitcode == -signal.SIGKILL and point is not None:
            self.kills[point.split(":")[0]] += 1
        elif process.exitcode != 0:
            raise RuntimeError(f"a writer failed with exit code {process.exitcode} instead of going on (point {point})")

    def _replace(self, process: BaseProcess) -> None:
        self._running = [entry for entry in self._running if entry[0] is not process]
        self._running.append(self._start())

    def finish(self) -> None:
        """Let those that run end or die."""
        for process, point in self._running:
            process.join(_SLOWEST_S)
            self._ended(process, point)


def trial(folder: Path, writers: int, kills: int, rng: random.Random, seed: int) -> Trial:
    """Fill a lake while its writers are killed; the input grows half-way."""
    start = time.monotonic()
    Input.write(folder / "input", _SESSIONS, seed).grow()
    write(folder / "undisturbed", folder / "input")
    expected = State.of(folder / "undisturbed")
    source = Input.write(folder / "input", _SESSIONS, seed)
    team = Writers(folder / "lake", source.folder, writers, rng)
    grown = False
    while sum(team.kills.values()) < kills and time.monotonic() - start < _SLOWEST_S:
        team.strike()
        if not grown and sum(team.kills.values()) >= kills // 2:
            source.grow()
            grown = True
    if not grown:
        source.grow()
    team.finish()
    write(folder / "lake", source.folder)
    write(folder / "lake", source.folder)
    found = State.of(folder / "lake")
    return Trial(
        writers=writers,
        kills=dict(sorted(team.kills.items())),
        records=found.records,
        lost=found.lost(expected),
        twice=found.twice,
        equal=found.digests == expected.digests and found.sources == expected.sources,
        findings=found.findings,
        seconds=round(time.monotonic() - start, 1),
    )


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="kills in all (default 100)")
    parser.add_argument("--minutes", type=float, default=12, help="stop after this long at the latest (default 12)")
    parser.add_argument("--seed", type=int, default=20261201)
    arguments = parser.parse_args()
    _PROCESSES.set_forkserver_preload(["benchmarks.soak.workload"])
    rng = random.Random(arguments.seed)
    end = time.monotonic() + 60 * arguments.minutes
    trials: list[Trial] = []
    total: Counter[str] = Counter()
    while sum(total.values()) < arguments.kills and time.monotonic() < end:
        writers = (2, 4)[len(trials) % 2]
        with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as folder:
            wanted = min(_PER_TRIAL, arguments.kills - sum(total.values()))
            trials.append(trial(Path(folder), writers, wanted, rng, arguments.seed + len(trials)))
        total.update(trials[-1].kills)
        print(f"{writers} writers: {sum(total.values())} kills so far, {trials[-1]}", flush=True)
    good = all(each.good for each in trials) and sum(total.values()) >= arguments.kills
    result = {
        "good": good,
        "kills": sum(total.values()),
        "kills_by_point": dict(sorted(total.items())),
        "writers": sorted({each.writers for each in trials}),
        "lost": sum(each.lost for each in trials),
        "twice": sum(each.twice for each in trials),
        "digests_equal": all(each.equal for each in trials),
        "seed": arguments.seed,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "measured_at": utc_now().isoformat(timespec="seconds"),
        "trials": [asdict(each) for each in trials],
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
