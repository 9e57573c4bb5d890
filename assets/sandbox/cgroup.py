"""Control groups: memory and process limits over all processes of a run together.

Belongs here: finding out whether one may make a group (v1 hierarchies or a delegated v2 subtree), making it, reading
why it killed, removing it. Does not belong here: any other way to limit. Where no group can be made, `open_group`
gives null and the caller falls back to watching.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assets.sandbox.contract import Limits


@dataclass(frozen=True)
class Hierarchy:
    """A folder below which groups can be made, and what they can limit."""

    parent: Path
    version: int
    controllers: frozenset[str]


class Group:
    """The group of one run, in one or more hierarchies."""

    def __init__(self, hierarchies: tuple[Hierarchy, ...], limits: Limits) -> None:
        name = f"clawgym-{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._folders = [(hierarchy.parent / name, hierarchy) for hierarchy in hierarchies]
        for folder, hierarchy in self._folders:
            folder.mkdir()
            _limit(folder, hierarchy, limits)

    @property
    def entries(self) -> list[str]:
        """Files a process writes `0` to in order to enter."""
        return [str(folder / "cgroup.procs") for folder, _ in self._folders]

    def oom_killed(self) -> bool:
        """Whether the kernel killed a process of the group for its memory."""
        return any(
            _read(folder / ("memory.oom_control" if hierarchy.version == 1 else "memory.events")).get("oom_kill", 0) > 0
            for folder, hierarchy in self._folders
            if "memory" in hierarchy.controllers
        )

    def remove(self) -> None:
        """Remove the group; its processes must be dead (the kernel may need a moment to notice)."""
        for folder, _ in self._folders:
            for _attempt in range(50):
                try:
                    folder.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.01)


def open_group(limits: Limits) -> Group | None:
    """A new group with these limits, or null where the machine gives none."""
    found = hierarchies()
    if not found:
        return None
    try:
        return Group(found, limits)
    except OSError:
        return None


def limited() -> frozenset[str]:
    """What groups can limit here: a subset of {memory, pids}."""
    return frozenset().union(*(hierarchy.controllers for hierarchy in hierarchies()))


@cache
def hierarchies() -> tuple[Hierarchy, ...]:
    """The hierarchies in which this process may make groups."""
    found = find(Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"))
    for hierarchy in found:
        _sweep(hierarchy.parent)
    return found


def _sweep(parent: Path) -> None:
    """Remove groups of processes of ours that were killed; a group that still holds processes cannot be removed."""
    for folder in parent.glob("clawgym-*"):
        owner = next((part for part in folder.name.split("-") if part.isdigit()), None)
        if owner is not None and not Path("/proc", owner).exists():
            with contextlib.suppress(OSError):
                folder.rmdir()


def find(root: Path, membership: Path) -> tuple[Hierarchy, ...]:
    """As `hierarchies`, for a given mount point and membership file."""
    found: list[Hierarchy] = []
    covered: set[str] = set()
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return ()
    for line in lines:
        _, names, path = line.split(":", 2)
        wanted = {"memory", "pids"} & set(names.split(","))
        if wanted:
            parents = [root / names / path.lstrip("/"), root / names]
            hierarchy = next((h for p in parents if (h := _probe(p, 1, frozenset(wanted)))), None)
        elif not names:
            own = root / path.lstrip("/")
            # A v2 group that holds processes cannot hand controllers to children, its parent can.
            hierarchy = next((h for p in (own, own.parent) if (h := _probe(p, 2, frozenset()))), None)
        else:
            continue
        if hierarchy and not hierarchy.controllers <= covered:
            found.append(hierarchy)
            covered |= hierarchy.controllers
    return tuple(found)


def _probe(parent: Path, version: int, controllers: frozenset[str]) -> Hierarchy | None:
    """Make and remove a group to see whether that is allowed and what it limits."""
    folder = parent / f"clawgym-probe-{os.getpid()}-{uuid.uuid4().hex[:12]}"
    try:
        folder.mkdir()
    except OSError:
        return None
    try:
        if version == 2:
            listed = (folder / "cgroup.controllers").read_text().split()
            controllers = frozenset({"memory", "pids"} & set(listed))
        usable = bool(controllers) and os.access(folder / "cgroup.procs", os.W_OK)
        return Hierarchy(parent, version, controllers) if usable else None
    except OSError:
        return None
    finally:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _limit(folder: Path, hierarchy: Hierarchy, limits: Limits) -> None:
    if "memory" in hierarchy.controllers:
        if hierarchy.version == 1:
            (folder / "memory.limit_in_bytes").write_text(str(limits.memory_bytes))
            with contextlib.suppress(OSError):  # there where swap accounting is on
                (folder / "memory.memsw.limit_in_bytes").write_text(str(limits.memory_bytes))
        else:
            (folder / "memory.max").write_text(str(limits.memory_bytes))
            with contextlib.suppress(OSError):
                (folder / "memory.swap.max").write_text("0")
            with contextlib.suppress(OSError):
                (folder / "memory.oom.group").write_text("1")
    if "pids" in hierarchy.controllers:
        # Two more than asked for: the sandbox's own supervisor and init count too.
        (folder / "pids.max").write_text(str(limits.processes + 2))


def _read(path: Path) -> dict[str, int]:
    """A flat `key value` file; empty when it is not there."""
    try:
        pairs = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
