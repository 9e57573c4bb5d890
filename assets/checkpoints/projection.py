"""Tables `checkpoints` and `training_metrics` from the events of training runs."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from lake import Projection, View, rows_table
from lake.ids import Json


def build(view: View) -> Mapping[str, pa.Table]:
    """One row a saved checkpoint; metrics of the run that saved it, not of one that was interrupted before."""
    checkpoints: list[dict[str, Json]] = []
    metrics: list[dict[str, Json]] = []
    run: dict[tuple[int, str], float] = {}
    for event in view.events():
        if event.type == "training.started":
            run = {}
        elif event.type == "training.metric":
            for name, value in event.payload["metrics"].items():
                run[(int(event.payload["step"]), name)] = float(value)
        elif event.type == "checkpoint.saved":
            checkpoints.append({**event.payload, "created_at": event.occurred_at, "event_id": event.event_id})
            metrics += (
                {"checkpoint_id": event.stream_id, "step": step, "metric": name, "value": value}
                for (step, name), value in run.items()
            )
    return {
        "checkpoints": rows_table("checkpoints", checkpoints),
        "training_metrics": rows_table("training_metrics", metrics),
    }


PROJECTION = Projection(
    name="checkpoints",
    version=1,
    outputs=("checkpoints", "training_metrics"),
    events=("training.started", "training.metric", "checkpoint.saved"),
    build=build,
)
