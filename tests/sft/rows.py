"""A lake whose earlier stages' tables hold given rows, for tests of what comes after them.

Belongs here: plausible rows with everything but what a test is about filled in. Does not belong here: assertions.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

import lake
from lake import Lake, rows_table
from lake.digest import table_digest
from lake.ids import Json, canonical, digest
from lake.projection import conform
from lake.schema import TABLES
from tests.training.conversations import TOOLS, expense_report

WHEN = datetime(2026, 12, 1, tzinfo=UTC)


@dataclass
class Run:
    """One attempt with one trajectory and at most one latest verdict."""

    n: int
    split: str | None = "train"
    purpose: str = "collect"
    counted: bool = True
    score_code: float | None = 1.0
    score: float | None = 1.0
    status: str = "scored"
    verdict: bool = True
    branch: int = 0
    trajectory_class: str = "normal"
    tools: str | None = canonical(TOOLS)
    ours: bool = True
    content: int | None = None
    """Number of the conversation; the run's own where null."""

    @property
    def attempt_id(self) -> str:
        return digest("attempt", self.n)

    @property
    def trajectory_id(self) -> str:
        return digest("trajectory", self.n)

    @property
    def task(self) -> dict[str, str]:
        return {"task_id": f"expense-s{self.n:04d}", "task_version": digest("task", self.n, length=16)}


def put(opened: Lake, name: str, rows: list[dict[str, Json]]) -> None:
    """Write a projection's table as if its stage had; missing columns get a plain value of their type."""
    full = []
    for row in rows:
        unknown = set(row) - set(TABLES[name].arrow.names)
        assert not unknown, f"{name} has no columns {unknown}"
        full.append({c.name: row.get(c.name, None if c.nullable else _plain(c.type)) for c in TABLES[name].columns})
    table = conform(name, rows_table(name, full))
    metadata = {
        "clawgym.projection": "test@1",
        "clawgym.inputs": "written by a test",
        "clawgym.digest": table_digest(name, table),
        "clawgym.rows": str(table.num_rows),
    }
    opened.store.overwrite(name, table, metadata)


def fill(root: Path, runs: list[Run]) -> Lake:
    """A lake with the tables the filter reads."""
    opened = lake.open(root)
    put(opened, "attempts", [_attempt(run) for run in runs if run.ours])
    put(opened, "trajectories", [_trajectory(run) for run in runs])
    put(opened, "verdicts", [_verdict(run) for run in runs if run.verdict])
    put(
        opened,
        "task_status",
        [
            {**run.task, "status": "accepted" if run.split else "rejected", "reasons": [], "split": run.split}
            for run in runs
        ],
    )
    return opened


def _attempt(run: Run) -> dict[str, Json]:
    return {
        **run.task,
        "attempt_id": run.attempt_id,
        "rollout_id": digest("rollout", run.n),
        "counted": run.counted,
        "purpose": run.purpose,
        "batch": "demo",
        "policy": "scripted:strong@1",
        "policy_kind": "scripted",
        "state": "ended",
        "ending": "finished",
        "ending_kind": "agent",
    }


def _trajectory(run: Run) -> dict[str, Json]:
    conversation = expense_report(run.n if run.content is None else run.content)
    return {
        "trajectory_id": run.trajectory_id,
        "session_id": f"session-{run.n}",
        "attempt_id": run.attempt_id if run.ours else None,
        "branch": run.branch,
        "class": run.trajectory_class,
        "turns": 3,
        "tool_calls": 3,
        "messages": canonical(list(conversation.messages)),
        "tools": run.tools,
    }


def _verdict(run: Run) -> dict[str, Json]:
    return {
        **run.task,
        "verdict_id": digest("verdict", run.n),
        "attempt_id": run.attempt_id,
        "status": run.status,
        "score_code": run.score_code,
        "score": run.score,
        "is_latest": True,
        "checks": "{}",
    }


def _plain(kind: pa.DataType) -> Json:
    if pa.types.is_integer(kind):
        return 0
    if pa.types.is_floating(kind):
        return 0.0
    if pa.types.is_boolean(kind):
        return False
    if pa.types.is_timestamp(kind):
        return WHEN
    return [] if pa.types.is_list(kind) else ""
