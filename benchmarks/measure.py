"""How a job is timed: CPU-seconds of this process and its children, wall time, peak memory.

Belongs here: the measurement and the shape of a result. Does not belong here: what is measured.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """What one run cost."""

    cpu_s: float
    wall_s: float


@dataclass(frozen=True)
class Result:
    """A job's figures. `ratio` is better-than-peer: above 1 means ours did more per CPU-second (or took less)."""

    name: str
    n: int
    unit: str
    """What `ours` and `peer` count, e.g. events per CPU-second (more is better)."""
    ours: float
    peer: float | None
    """None when it could not be run; `peer_is` then says why."""
    peer_is: str
    ratio: float | None
    runs: int
    spread: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Lowest and highest of each side over the runs."""
    detail: Mapping[str, float | int | str] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """As plain JSON values."""
        return asdict(self)


def peak_memory() -> int:
    """Most memory this program has held. Bytes.

    Not `ru_maxrss`: that counts what the process was before it became this program, a copy of the one that started it.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")))


def _cpu() -> float:
    mine, kids = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + kids.ru_utime + kids.ru_stime


def cost(run: Callable[[], object]) -> Cost:
    """Run once; children count when they have been waited for."""
    cpu, wall = _cpu(), time.perf_counter()
    run()
    return Cost(_cpu() - cpu, time.perf_counter() - wall)


def paired(
    name: str,
    n: int,
    unit: str,
    ours: Callable[[], Cost],
    peer: Callable[[], Cost] | None,
    *,
    peer_is: str,
    runs: int = 3,
    by_wall: bool = False,
    per: float = 1.0,
    detail: Mapping[str, float | int | str] | None = None,
) -> Result:
    """Alternate ours and the peer `runs` times; medians of n per (CPU- or wall-) second, times `per`.

    Without a peer (None) only ours is run; `detail` may be filled in later.
    """
    sides = {"ours": ours} if peer is None else {"ours": ours, "peer": peer}
    rates: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(runs):
        for side, run in sides.items():
            spent = run()
            rates[side].append(per * n / (spent.wall_s if by_wall else spent.cpu_s))
    middle = {side: statistics.median(values) for side, values in rates.items()}
    return Result(
        name=name,
        n=n,
        unit=unit,
        ours=round(middle["ours"], 3),
        peer=None if peer is None else round(middle["peer"], 3),
        peer_is=peer_is,
        ratio=None if peer is None else round(middle["ours"] / middle["peer"], 3),
        runs=runs,
        spread={side: (round(min(values), 3), round(max(values), 3)) for side, values in rates.items()},
        detail={} if detail is None else detail,
    )
