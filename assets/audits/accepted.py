"""What later stages take from this one: the accepted tasks. Does not belong here: how they were accepted."""

from __future__ import annotations

from typing import Any

import sql
from lake import Lake


def accepted_tasks(lake: Lake, split: str | None = None) -> list[dict[str, Any]]:
    """Rows of `tasks` with `status`, `reasons` and `split`: of each task its latest accepted version, by task_id.

    Args:
        split: train | validation | test | bench:<suite>; all where null.
    """
    found: list[dict[str, Any]] = lake.sql(sql.load("audits/accepted"), {"split": split}).to_arrow_table().to_pylist()
    return found
