"""Tables `audits` and `task_status` from the events of probes and decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from assets.audits.effect import ACCEPTED, ASSIGNED, PROBED, REJECTED
from lake import Projection, View, rows_table
from lake.ids import canonical


def build(view: View) -> Mapping[str, pa.Table]:
    """One row a probe, one row a decided task version."""
    audits = [
        {**event.payload, "checks": canonical(event.payload["checks"]), "event_id": event.event_id}
        for event in view.events(PROBED)
    ]
    decisions: dict[str, dict[str, Any]] = {}
    for event in view.events(ACCEPTED, REJECTED, ASSIGNED):
        if event.type == ASSIGNED:
            decisions[event.stream_id]["split"] = event.payload["split"]
        else:
            decisions[event.stream_id] = {
                "task_id": event.payload["task_id"],
                "task_version": event.payload["task_version"],
                "status": "accepted" if event.type == ACCEPTED else "rejected",
                "reasons": sorted(event.payload["reasons"]),
                "split": None,
                "event_id": event.event_id,
            }
    # Accepted, but interrupted before the split was stated: no decision yet.
    status = [row for row in decisions.values() if row["status"] == "rejected" or row["split"] is not None]
    return {"audits": rows_table("audits", audits), "task_status": rows_table("task_status", status)}


PROJECTION = Projection(
    name="audits",
    version=1,
    outputs=("audits", "task_status"),
    events=(PROBED, ACCEPTED, REJECTED, ASSIGNED),
    build=build,
)
