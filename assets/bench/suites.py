"""Suites as data: the accepted tasks that were assigned to `bench:<suite>`.

Belongs here: what a suite consists of. Does not belong here: how tasks get into it (`audits`), runs of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lake import Lake
from lake.errors import StageError
from lake.ids import digest


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
    """The suite called `name` as it stands now.

    Raises:
        StageError: no accepted task is assigned to it.
    """
    status = lake.rows("task_status")
    members = {(row["task_id"], row["task_version"]) for row in status if row["split"] == f"bench:{name}"}
    tasks = [task for task in lake.rows("tasks") if (task["task_id"], task["task_version"]) in members]
    if not tasks:
        others = sorted({row["split"].partition(":")[2] for row in status if str(row["split"]).startswith("bench:")})
        raise StageError(
            f"suite {name!r} has no accepted tasks; suites with tasks: {', '.join(others) or 'none'}; "
            "see [audits] suite and bench_every in the profile, and `clawgym tasks audit`"
        )
    return Suite(name, sorted(tasks, key=lambda task: (task["task_id"], task["task_version"])))
