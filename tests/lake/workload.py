"""A small workload that passes every crash point of the core and may be run again at any time.

Belongs here: effects keyed by stream, raw batches, two projections, and the digests they must come out with.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

import lake
from lake import Lake, Projection, View, crash, rows_table
from lake.digest import table_digest
from lake.ids import Json
from lake.schema import TABLES

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SOURCE = "5" * 64
STREAMS = 4
EVENTS = 3
BATCHES = 3


def personas(view: View) -> dict[str, pa.Table]:
    rows = [
        {
            "persona_id": event.stream_id,
            "text": event.payload["text"],
            "name": view.blob(event.payload["blob"]).decode(),
            "occupation": "tester",
            "domain": "tests",
            "origin": "builtin",
            "licence": "CC0-1.0",
            "event_id": event.event_id,
        }
        for event in view.events("persona.created")
    ]
    return {"personas": rows_table("personas", rows)}


def ledger(view: View) -> dict[str, pa.Table]:
    found = view.sql(
        "select source_id, version, any_value(source_kind) as source_kind, null as session_id, null as attempt_id,"
        " 'kept' as disposition, 'step' as rule, count(*)::bigint as records, null as group_id"
        " from raw_records group by all"
    )
    return {"ledger": found.select(TABLES["ledger"].arrow.names)}


PERSONAS = Projection("personas", 1, ("personas",), ("persona.created",), personas)
LEDGER = Projection("ledger", 1, ("ledger",), (), ledger, raw=True, tables=("personas",))
PROJECTIONS = (PERSONAS, LEDGER)


def raw_rows(batch: int, count: int = 4) -> list[dict[str, Json]]:
    """Records of one batch; the last one is larger than a row may be."""
    rows: list[dict[str, Json]] = []
    for i in range(count):
        raw = json.dumps({"batch": batch, "i": i}).encode()
        if i == count - 1:
            raw += b" " * (1024 * 1024)
        rows.append(
            {
                "version": 0,
                "position": (batch * count + i) * 100,
                "source_kind": "openclaw.jsonl",
                "source_path": "session.jsonl",
                "raw": raw,
                "encoding": "identity",
                "parse_status": "ok",
            }
        )
    return rows


def ingest(lake_: Lake) -> None:
    """Three batches, then the event that says so."""
    for batch in range(BATCHES):
        lake_.append_raw(SOURCE, batch, raw_rows(batch), blobs=[b"image %d" % batch])
    if SOURCE not in lake_.streams("source", ["source.ingested"]):
        crash.point("ingest.before_event")
        with lake_.spool("tests") as spool:
            spool.stream("source", SOURCE).emit("source.ingested", {"records": 12}, occurred_at=WHEN)


def effects(lake_: Lake) -> None:
    """A few streams of a few events each, in one spool sealed in the middle; goes on where the log ends."""
    done = Counter(event.stream_id for event in lake_.events(stream_kind="persona"))
    if all(done[f"p{i}"] == EVENTS for i in range(STREAMS)):
        return
    with lake_.spool("tests") as spool:
        for i in range(STREAMS):
            stream = spool.stream("persona", f"p{i}", next_seq=done[f"p{i}"])
            for seq in range(done[f"p{i}"], EVENTS):
                blob = spool.put_blob(f"name {i}".encode(), "text/plain")
                type_ = "persona.created" if seq == 0 else "persona.noted"
                text = "long " * 20_000 if seq == 1 else f"text {i} {seq}"
                stream.emit(type_, {"text": text, "blob": blob}, occurred_at=WHEN)
            if i == STREAMS // 2:
                spool.seal()


def run(root: Path) -> None:
    """Everything, from whatever state the lake is in."""
    lake_ = lake.open(root)
    lake_.commit()
    ingest(lake_)
    effects(lake_)
    lake_.commit()
    for projection in PROJECTIONS:
        lake_.build(projection)


def run_and_die(root: Path, point: str) -> None:
    """The same with a crash point set; the process is to die on the way."""
    os.environ["CLAWGYM_CRASH_AT"] = point
    run(root)


def state(root: Path) -> dict[str, str]:
    """Digest of each table; nothing of when or by which file it was written."""
    lake_ = lake.open(root, create=False)
    return {
        name: table_digest(name, lake_.table(name)) for name in ("events", "raw_records", "blobs", "personas", "ledger")
    }
