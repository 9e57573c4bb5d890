"""Table `tasks` from `task.proposed`, and the way back from a row to its bundle.

Belongs here: projection and `load_bundles`. Does not belong here: whether a task is any good (`checks.py`, `audits`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from assets.tasks.bundle import TaskBundle
from assets.tasks.plan import Plan
from lake import Lake, Projection, View, rows_table
from lake.ids import canonical

_AS_JSON = ("input_manifest", "reward_manifest", "oracle_manifest", "rubric", "plan")


def build(view: View) -> Mapping[str, pa.Table]:
    """One row a task version."""
    rows = []
    for event in view.events("task.proposed"):
        row = {**event.payload, "event_id": event.event_id}
        for name in _AS_JSON:
            row[name] = None if row[name] is None else canonical(row[name])
        rows.append(row)
    return {"tasks": rows_table("tasks", rows)}


PROJECTION = Projection(name="tasks", version=1, outputs=("tasks",), events=("task.proposed",), build=build)


_MANIFESTS = ("input_manifest", "reward_manifest", "oracle_manifest")
_TOGETHER = 200
"""Bundles whose files are fetched by one query."""


def load_bundle(lake: Lake, row: Mapping[str, Any]) -> TaskBundle:
    """The bundle of a row of `tasks`, with its files from the blobs.

    Raises:
        LakeError: a blob is missing.
    """
    return next(load_bundles(lake, [row]))


def load_bundles(lake: Lake, rows: Sequence[Mapping[str, Any]]) -> Iterator[TaskBundle]:
    """The bundles of many rows, in order, their files fetched for many at a time.

    Raises:
        LakeError: a blob is missing.
    """
    for start in range(0, len(rows), _TOGETHER):
        manifests = [
            {column: json.loads(row[column] or "[]") for column in _MANIFESTS}
            for row in rows[start : start + _TOGETHER]
        ]
        contents = lake.blobs({e["sha256"] for of_row in manifests for found in of_row.values() for e in found})
        for row, of_row in zip(rows[start : start + _TOGETHER], manifests, strict=True):
            yield _bundle(row, {name: {e["path"]: contents[e["sha256"]] for e in of_row[name]} for name in _MANIFESTS})


def _bundle(row: Mapping[str, Any], files: Mapping[str, dict[str, bytes]]) -> TaskBundle:
    return TaskBundle(
        task_id=row["task_id"],
        instruction=row["instruction"],
        inputs=files["input_manifest"],
        reward=files["reward_manifest"],
        verifier_protocol=row["verifier_protocol"],
        origin=row["origin"],
        route=row["route"],
        licence=row["licence"],
        oracle=None if row["oracle_manifest"] is None else files["oracle_manifest"],
        plan=None if row["plan"] is None else Plan.from_json(json.loads(row["plan"])),
        rubric=None if row["rubric"] is None else tuple(json.loads(row["rubric"])),
        family=row["family"],
        seed=row["seed"],
        scenario_category=row["scenario_category"],
        scenario_subcategory=row["scenario_subcategory"],
        bench_category=row["bench_category"],
        operations=tuple(row["operations"]),
        difficulty=row["difficulty"],
        persona_id=row["persona_id"],
        skill_ids=tuple(row["skill_ids"]),
        expected_outputs=tuple(row["expected_outputs"]),
    )
