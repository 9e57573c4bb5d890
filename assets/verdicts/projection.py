"""Table `verdicts`: the history of grading, the latest of each attempt marked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import pyarrow as pa

from assets.verdicts.effect import RECORDED
from lake import Projection, View, rows_table
from lake.ids import canonical


def build(view: View) -> Mapping[str, pa.Table]:
    """One row a verdict."""
    rows = []
    latest: dict[str, tuple[datetime, str]] = {}
    for event in view.events(RECORDED):
        payload = event.payload
        graded_at = datetime.fromisoformat(payload["graded_at"])
        place = (graded_at, payload["verdict_id"])
        latest[payload["attempt_id"]] = max(place, latest.get(payload["attempt_id"], place))
        row = {**payload, "checks": canonical(payload["checks"]), "graded_at": graded_at, "event_id": event.event_id}
        rows.append(row)
    for row in rows:
        row["is_latest"] = latest[row["attempt_id"]][1] == row["verdict_id"]
    return {"verdicts": rows_table("verdicts", rows)}


PROJECTION = Projection(name="verdicts", version=1, outputs=("verdicts",), events=(RECORDED,), build=build)
