"""Which trajectories are exported, and reading them in one pass, ordered by id, whatever their number.

Belongs here: filters and queries at one snapshot. Does not belong here: formats, files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import sql
from assets.trajectories.exports.item import Child, Item, Row
from lake import Lake
from lake.ids import Json

_AT_ONCE: Final = 256
"""Rows fetched at once."""


@dataclass(frozen=True)
class Filters:
    """Which trajectories; what is not given takes all."""

    policy: str | None = None
    """Contained in the policy."""
    task: str | None = None
    """Contained in the task id."""
    class_: str | None = None
    counted: bool = False
    """Only attempts that are the counted one of their rollout."""
    min_score: float | None = None
    """Least `score_code` of the latest verdict."""

    def parameters(self) -> dict[str, Json]:
        """As the query takes them."""
        return {name.rstrip("_"): value for name, value in asdict(self).items()}

    def given(self) -> dict[str, Json]:
        """Only those that were given."""
        return {name: value for name, value in self.parameters().items() if value not in (None, False)}


def pinned(lake: Lake, as_of: str | None) -> str:
    """The snapshot an export reads and names: now, which is recorded first, or the one `as_of` means.

    Raises:
        UsageError: there is no such snapshot.
    """
    if as_of is None:
        return lake.snapshot("export of trajectories")
    versions = lake.versions_at(as_of)
    rows = sorted(lake.rows("snapshots"), key=lambda row: (row["recorded_at"], row["snapshot_id"]))
    return next(str(row["snapshot_id"]) for row in rows if json.loads(row["versions"]) == versions)


def chosen(lake: Lake, snapshot: str, filters: Filters) -> list[str]:
    """Ids of the trajectories, in order."""
    found = lake.sql(sql.load("trajectories/export_choice"), filters.parameters(), as_of=snapshot)
    return [str(row[0]) for row in found.fetchall()]


def items(lake: Lake, snapshot: str, ids: list[str]) -> Iterator[Item]:
    """The trajectories with their steps and calls, by id: one at a time here, sorted by DuckDB."""
    steps = _Groups(_rows(lake, snapshot, "export_steps", ids))
    calls = _Groups(_rows(lake, snapshot, "export_calls", ids))
    exact = {str(row["trajectory_id"]): int(row["calls"]) for row in _rows(lake, snapshot, "export_token_ids", ids)}
    for row in _rows(lake, snapshot, "export_rows", ids):
        key = str(row["trajectory_id"])
        yield Item(row, steps.take(key), calls.take(key), exact.get(key, 0))


def families(lake: Lake, snapshot: str, ids: list[str]) -> tuple[dict[tuple[str, str], list[Child]], dict[str, str]]:
    """Children by (home, session id) of their parent, and the parent's session by trajectory id of the child."""
    children: dict[tuple[str, str], list[Child]] = {}
    parents: dict[str, str] = {}
    for row in _rows(lake, snapshot, "export_children", ids):
        child = Child(row["trajectory_id"], row["session_id"], row["session_key"], row["known_by"])
        children.setdefault((row["home"], row["parent_session_id"]), []).append(child)
        parents[child.trajectory_id] = row["parent_session_id"]
    return children, parents


def _rows(lake: Lake, snapshot: str, name: str, ids: list[str]) -> Iterator[dict[str, Any]]:
    relation = lake.sql(sql.load(f"trajectories/{name}"), {"ids": ids}, as_of=snapshot)
    columns = relation.columns
    while found := relation.fetchmany(_AT_ONCE):
        for row in found:
            yield dict(zip(columns, row, strict=True))


class _Groups:
    """Rows ordered by trajectory id, handed out a trajectory at a time, in the same order."""

    def __init__(self, rows: Iterator[dict[str, Any]]) -> None:
        self._rows = rows
        self._next = next(rows, None)

    def take(self, key: str) -> list[Row]:
        found: list[Row] = []
        while self._next is not None and self._next["trajectory_id"] <= key:
            if self._next["trajectory_id"] == key:
                found.append(self._next)
            self._next = next(self._rows, None)
        return found
