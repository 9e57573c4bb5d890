"""The tables `sources` (a row a source version, from events alone) and `sessions` (what the agent's books state)."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from assets.logs.sessions import home_of, session_rows
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
        row["home"] = home_of(row["path"])
    return {
        "sources": rows_table("sources", list(rows.values())),
        "sessions": rows_table("sessions", session_rows(view)),
    }


_FROM_PAYLOAD = (
    "source_id", "version", "source_kind", "session_id", "attempt_id", "records", "bytes", "sha256", "open_tail",
)  # fmt: skip

PROJECTION = Projection(
    name="logs",
    version=2,
    outputs=("sources", "sessions"),
    events=("source.ingested", "source.seen"),
    build=build,
    raw=True,
)
