"""Every table of the lake as data, one file a stage.

Belongs here: the registry of tables. A new table goes into its stage's file and appears here by itself.
"""

from __future__ import annotations

from lake.schema import (
    audits,
    bench,
    checkpoints,
    log,
    logs,
    personas,
    rollouts,
    sft,
    skills,
    tasks,
    trajectories,
    verdicts,
    workspaces,
)
from lake.schema.model import Column, Table

_STAGES = (
    log,
    personas,
    skills,
    tasks,
    workspaces,
    audits,
    rollouts,
    logs,
    trajectories,
    verdicts,
    sft,
    checkpoints,
    bench,
)

TABLES: dict[str, Table] = {table.name: table for module in _STAGES for table in module.TABLES}
"""All tables by name: the log first, then the stages in data-flow order."""


def table(name: str) -> Table:
    """The table called `name`.

    Raises:
        KeyError: there is none; the message lists what there is.
    """
    if name not in TABLES:
        raise KeyError(f"no table {name!r}; there are: {', '.join(TABLES)}")
    return TABLES[name]


__all__ = ["TABLES", "Column", "Table", "table"]
