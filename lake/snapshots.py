"""Snapshots: what the lake knew at the end of a run, as table name to Delta version.

Belongs here: taking them and finding one. Does not belong here: reading at one (`Lake.at`).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable

from lake.errors import UsageError
from lake.ids import Json, canonical, sha256_hex, utc_now
from lake.reader import Reader
from lake.schema import TABLES
from lake.schema.log import SNAPSHOTS
from lake.store import Prepared, Store, next_batch

WRITERS: Final = "clawgym.snapshots"


def listing(reader: Reader) -> list[dict[str, Json]]:
    """All snapshots, oldest first."""
    return sorted(reader.rows("snapshots"), key=lambda row: (row["recorded_at"], row["snapshot_id"]))


def take(store: Store, reader: Reader, reason: str, run_id: str | None) -> str:
    """Record the versions of all tables; the last snapshot's id when they did not change since."""
    # What is computed is looked at before what it is computed from: a commit in between makes the log newer than the
    # tables, never older.
    versions = {name: reader.version(name) for name in reversed(TABLES) if name != "snapshots"}
    text = canonical(versions)
    snapshot_id = ""

    def prepare(table: DeltaTable) -> Prepared | None:
        nonlocal snapshot_id
        rows = sorted(table.to_pyarrow_table().to_pylist(), key=lambda row: (row["recorded_at"], row["snapshot_id"]))
        if rows and rows[-1]["versions"] == text:
            snapshot_id = rows[-1]["snapshot_id"]
            return None
        now = utc_now()
        snapshot_id = f"{now:%Y%m%dT%H%M%SZ}-{sha256_hex(text)[:16]}"
        row = {"snapshot_id": snapshot_id, "recorded_at": now, "run_id": run_id, "reason": reason, "versions": text}
        return pa.Table.from_pylist([row], schema=SNAPSHOTS.arrow), {WRITERS: next_batch(table, WRITERS)}

    store.transact("snapshots", prepare)
    return snapshot_id


def versions_at(reader: Reader, as_of: str) -> dict[str, int]:
    """Table versions of a snapshot id, or of the latest snapshot not later than a UTC time.

    Raises:
        UsageError: there is no such snapshot.
    """
    rows = listing(reader)
    for row in rows:
        if row["snapshot_id"] == as_of:
            return dict(json.loads(row["versions"]))
    try:
        when = datetime.fromisoformat(as_of.replace("Z", "+00:00"))
    except ValueError as error:
        raise UsageError(f"{as_of!r} is neither a snapshot id nor an ISO time; see `clawgym lake snapshots`") from error
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    earlier = [row for row in rows if row["recorded_at"] <= when]
    if not earlier:
        raise UsageError(f"no snapshot at or before {as_of}; see `clawgym lake snapshots`")
    return dict(json.loads(earlier[-1]["versions"]))
