"""Tables `attempts` and `final_files` from the events of attempts.

Belongs here: the projection. Does not belong here: what was said in an attempt (`trajectories`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import pyarrow as pa

from assets.rollouts.plan import ENDED, LOST, PLANNED, STARTED
from lake import Event, Projection, View, rows_table
from lake.ids import Json

_ENDED_COLUMNS = (
    "ending", "ending_kind", "ending_detail", "exit_code", "session_id", "model_calls", "upstream_errors",
    "prefix_breaks", "final_workspace_id", "duration_s",
)  # fmt: skip


def build(view: View) -> Mapping[str, pa.Table]:
    """One row an attempt; one row a path of a frozen workspace or of the initial one it came from."""
    initial = {
        (row["task_id"], row["task_version"]): json.loads(row["input_manifest"])
        for row in view.table("tasks").select(["task_id", "task_version", "input_manifest"]).to_pylist()
    }
    attempts: list[dict[str, Any]] = []
    files: list[dict[str, Any]] = []
    for _, events in groupby(view.events(), key=lambda event: event.stream_id):
        row: dict[str, Any] = {}
        for event in events:
            row = _take(row, event)
            if event.type == ENDED:
                manifest = initial.get((row["task_id"], row["task_version"]), [])
                files += final_files(row["attempt_id"], event, manifest)
        if row:
            attempts.append(row)
    _count(attempts)
    return {"attempts": rows_table("attempts", attempts), "final_files": rows_table("final_files", files)}


def final_files(attempt_id: str, ended: Event, initial: Iterable[Mapping[str, Json]]) -> list[dict[str, Any]]:
    """Rows of `final_files` of one attempt: what is there at the end, and what was there and is not any more."""
    before = {entry["path"]: entry for entry in initial}
    rows = []
    for entry in ended.payload["files"]:
        was = before.pop(entry["path"], None)
        if was is None:
            change = "added"
        else:
            same = entry["kind"] == "file" and entry["sha256"] == was["sha256"]
            change = "unchanged" if same else "modified"
        rows.append(_file_row(attempt_id, ended, entry, change))
    gone = {"kind": "file", "sha256": None, "size": 0, "mode": 0, "note": None}
    rows += [
        _file_row(attempt_id, ended, {**gone, "path": path, "format": was.get("format")}, "removed")
        for path, was in before.items()
    ]
    return rows


def _file_row(attempt_id: str, ended: Event, entry: Mapping[str, Json], change: str) -> dict[str, Any]:
    names = ("path", "kind", "sha256", "size", "mode", "format", "note")
    return {
        "attempt_id": attempt_id,
        **{name: entry[name] for name in names},
        "change": change,
        "event_id": ended.event_id,
    }


def _take(row: dict[str, Any], event: Event) -> dict[str, Any]:
    """The row after one more event of its stream."""
    if event.type == PLANNED:
        row = {name: value for name, value in event.payload.items() if name != "config"}
        row |= {"state": "planned", "planned_at": event.occurred_at, "counted": False}
    elif event.type == STARTED:
        row |= {"state": "running", "sandbox": event.payload["sandbox"], "started_at": event.occurred_at}
    elif event.type == ENDED:
        row |= {"state": "ended", "ended_at": event.occurred_at}
        row |= {name: event.payload.get(name) for name in _ENDED_COLUMNS}
    elif event.type == LOST:
        row |= {"state": "lost", "ended_at": event.occurred_at, "ending": "lost", "ending_kind": "infrastructure"}
        row |= {"ending_detail": event.payload["reason"]}
    return {**row, "event_id": event.event_id}


def _count(attempts: list[dict[str, Any]]) -> None:
    """Mark each rollout's first attempt with an agent ending."""
    counted: set[str] = set()
    for row in sorted(attempts, key=lambda row: (row["rollout_id"], row["attempt_no"])):
        if row.get("ending_kind") == "agent" and row["rollout_id"] not in counted:
            counted.add(row["rollout_id"])
            row["counted"] = True


PROJECTION = Projection(
    name="rollouts",
    version=1,
    outputs=("attempts", "final_files"),
    events=(PLANNED, STARTED, ENDED, LOST),
    build=build,
    tables=("tasks",),
)
