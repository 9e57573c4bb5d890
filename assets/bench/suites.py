"""Suites as data: the accepted tasks assigned to `bench:<suite>`, or those a selection from such a suite chose.

Belongs here: what a suite consists of. Does not belong here: how tasks get into it (`audits`, `selection`), runs of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.profile import Profile
from lake import Lake
from lake.errors import StageError
from lake.ids import Json, digest

KIND = "suite"
SELECTED = "suite.selected"


@dataclass(frozen=True)
class Suite:
    """A suite at one version."""

    name: str
    tasks: Sequence[Mapping[str, Any]]
    """Rows of `tasks`, by task id."""

    @property
    def version(self) -> str:
        """Digest of its task versions."""
        return digest(self.task_versions, length=16)

    @property
    def task_versions(self) -> list[list[str]]:
        """[task id, task version], sorted."""
        return sorted([str(task["task_id"]), str(task["task_version"])] for task in self.tasks)


def load_suite(lake: Lake, name: str) -> Suite:
    """The suite called `name` as it stands now. A selected suite is what it was when it was selected.

    Raises:
        StageError: no accepted task is assigned to it, and no selection has this name.
    """
    status = lake.rows("task_status")
    selections = read_selections(lake)
    if name in selections:
        members = {(row["task_id"], row["task_version"]) for row in selections[name]["tasks"] if row["kept"]}
    else:
        members = {(row["task_id"], row["task_version"]) for row in status if row["split"] == f"bench:{name}"}
    tasks = [task for task in lake.rows("tasks") if (task["task_id"], task["task_version"]) in members]
    if not tasks:
        assigned = {row["split"].partition(":")[2] for row in status if str(row["split"]).startswith("bench:")}
        others = sorted(assigned | set(selections))
        raise StageError(
            f"suite {name!r} has no accepted tasks; suites with tasks: {', '.join(others) or 'none'}; "
            "see [audits] suite and bench_every in the profile, and `clawgym tasks audit`"
        )
    return Suite(name, sorted(tasks, key=lambda task: (task["task_id"], task["task_version"])))


def suite_name(profile: Profile) -> str:
    """The suite a profile's bench runs."""
    return profile.bench.suite or profile.audits.suite


def read_selections(lake: Lake) -> dict[str, Json]:
    """Selected suites: name to the payload of `suite.selected`."""
    return {event.stream_id: event.payload for event in lake.events(SELECTED, stream_kind=KIND)}
