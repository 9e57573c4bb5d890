"""What racing processes do in tests: functions a fork server can import."""

from __future__ import annotations

from pathlib import Path
from threading import BrokenBarrierError
from typing import Any

import pyarrow as pa

import lake
from lake.commit import commit
from lake.schema.log import SNAPSHOTS
from lake.store import Store
from tests.lake import workload


def wait(barrier: Any) -> None:
    try:
        barrier.wait(30)
    except BrokenBarrierError as error:
        raise SystemExit(3) from error


def commit_unlocked(root: Path, barrier: Any) -> None:
    """Commit without the lock that keeps committers of one machine apart."""
    store = Store(root)
    store.version("events")
    wait(barrier)
    commit(store, locked=False)


def append_batches(root: Path, barrier: Any) -> None:
    """Append the batches of the workload's source."""
    opened = lake.open(root, create=False)
    wait(barrier)
    for batch in range(workload.BATCHES):
        opened.append_raw(workload.SOURCE, batch, workload.raw_rows(batch), blobs=[b"same image"])


def append_same(root: Path, barrier: Any, times: int) -> None:
    """Append batches of one application id, each holding one row."""
    store = Store(root)
    wait(barrier)
    for number in range(times):
        row = {
            "snapshot_id": f"s{number}",
            "recorded_at": workload.WHEN,
            "run_id": None,
            "reason": "race",
            "versions": "{}",
        }
        store.append("snapshots", pa.Table.from_pylist([row], schema=SNAPSHOTS.arrow), {"race": number})


def build_both(root: Path, barrier: Any) -> None:
    """Build the workload's projections."""
    opened = lake.open(root, create=False)
    wait(barrier)
    for projection in workload.PROJECTIONS:
        opened.build(projection)
