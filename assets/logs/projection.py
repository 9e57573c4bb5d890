"""The table `sources`: one row a source version, from the events alone."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from lake import Projection, View, rows_table
from lake.ids import Json


def build(view: View) -> Mapping[str, pa.Table]:
    """See `Projection.build`."""
    rows: dict[tuple[str, int], dict[str, Json]] = {}
    paths: dict[tuple[str, int], set[str]] = {}
    for event in view.events():
        payload = event.payload
        key = (payload["source_id"], payload["version"])
        paths.setdefault(key, set()).add(payload["path"])
        if event.type != "source.ingested":
            continue
        first = rows.get(key)
        rows[key] = {
            **{name: payload[name] for name in _FROM_PAYLOAD},
            "path": payload["path"] if first is None else first["path"],
            "ingests": 1 if first is None else first["ingests"] + 1,
            "ingested_at": event.occurred_at,
            "event_id": event.event_id,
        }
    latest: dict[str, int] = {}
    for source_id, version in rows:
        latest[source_id] = max(version, latest.get(source_id, 0))
    for key, row in rows.items():
        row["seen_paths"] = sorted(paths[key])
        row["is_latest"] = latest[key[0]] == key[1]
    return {"sources": rows_table("sources", list(rows.values()))}


_FROM_PAYLOAD = (
    "source_id", "version", "source_kind", "session_id", "attempt_id", "records", "bytes", "sha256", "open_tail",
)  # fmt: skip

PROJECTION = Projection(
    name="logs",
    version=1,
    outputs=("sources",),
    events=("source.ingested", "source.seen"),
    build=build,
)
