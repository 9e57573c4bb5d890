"""The decision on a task, from what its probes said, and the split it goes to.

Belongs here: pure rules. Does not belong here: running probes, the log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.profile import AuditsSection
from lake.ids import digest


@dataclass(frozen=True)
class Decision:
    """Accepted where there is no reason against."""

    reasons: list[str]
    mutants: int
    killed: int

    @property
    def accepted(self) -> bool:
        """Whether the task may be used."""
        return not self.reasons


def decide(probed: Iterable[Mapping[str, Any]], bounds: AuditsSection, free: Iterable[str] = ()) -> Decision:
    """Accepted if every probe passed and the share of mutants noticed reaches the bound.

    Args:
        probed: payloads of `audit.probed` of one task version.
        free: names of probes that are reported only.
    """
    ignored, failed, mutants, killed = set(free), [], 0, 0
    for row in probed:
        if row["probe"].startswith("mutant:"):
            mutants += 1
            killed += row["passed"]
        elif not row["passed"] and row["probe"] not in ignored:
            failed.append(row["probe"])
    if mutants and killed < bounds.mutants_killed * mutants:
        failed.append(f"mutants: {killed} of {mutants} noticed")
    return Decision(sorted(failed), mutants, killed)


def splits(tasks: Sequence[Mapping[str, Any]], bounds: AuditsSection) -> dict[str, str]:
    """Split of each task_id: train | validation | bench:<suite>, by its place among the seeds of its family.

    A new version of a seed, or a family that grows by later seeds, changes no split. A task without family or seed has
    a place that follows from its id.
    """
    seeds: dict[str, set[int]] = defaultdict(set)
    for task in tasks:
        if task["family"] is not None and task["seed"] is not None:
            seeds[task["family"]].add(task["seed"])
    ranks = {(family, seed): rank for family, known in seeds.items() for rank, seed in enumerate(sorted(known))}
    found = {}
    for task in tasks:
        rank = ranks.get((task["family"], task["seed"]), int(digest(task["task_id"], length=12), 16))
        found[task["task_id"]] = _split(rank, bounds)
    return found


def kept_from_bench(split: str) -> str:
    """Where a task goes whose verifier runs agent code in its own process: its scores can be made up, so no bench."""
    return "train" if split.startswith("bench:") else split


def _split(rank: int, bounds: AuditsSection) -> str:
    if rank % bounds.bench_every == bounds.bench_every - 1:
        return f"bench:{bounds.suite}"
    if rank % bounds.validation_every == (bounds.validation_every - 2) % bounds.validation_every:
        return "validation"
    return "train"
