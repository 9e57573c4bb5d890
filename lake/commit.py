"""The committer: turns spools into few Delta commits, exactly once, and only then marks them.

Order per round: blobs, events, mark, delete. A kill between any two is found again by the next round; the
application transaction (spool id, segment number) in the events table says what is in.
Does not belong here: raw logs (their ingest has transactions of its own), projections.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from lake import crash
from lake.errors import LogError
from lake.ids import Json, event_id, utc_now
from lake.schema.log import BLOBS, EVENTS
from lake.settings import MAX_INLINE
from lake.spool import fsync_dir, is_orphan, read_segment
from lake.store import Store


@dataclass(frozen=True)
class Segment:
    """One sealed (or abandoned) piece of a spool."""

    spool_id: str
    number: int
    path: Path
    records: list[dict[str, Json]]


@dataclass(frozen=True)
class Committed:
    """What one round did."""

    segments: int
    events: int
    blobs: int
    repeated: int
    """Events left out since their (stream, seq) was in the log with the same id: an effect done twice."""


@contextmanager
def commit_lock(root: Path) -> Iterator[None]:
    """Serialise committers of one machine. The transactions keep racing machines right; this keeps them cheap."""
    with (root / "commit.lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def commit(store: Store) -> Committed:
    """Commit everything that is sealed or abandoned in the spool folder.

    Raises:
        LogError: a stream has a gap; nothing of this round is written.
    """
    root = store.root
    (root / "spool").mkdir(parents=True, exist_ok=True)
    with commit_lock(root):
        segments = _waiting(store)
        result = _write(store, segments) if segments else Committed(0, 0, 0, 0)
        _sweep(root / "spool")
        return result


def _waiting(store: Store) -> list[Segment]:
    found: list[Segment] = []
    events = store.delta("events")
    for spool in sorted((store.root / "spool").iterdir()):
        paths = sorted(spool.glob("*.jsonl"))
        if is_orphan(spool):
            paths = sorted([*paths, *spool.glob("*.open")])
        done = events.transaction_version(spool.name)
        for path in paths:
            number = int(path.name.split(".")[0])
            if done is not None and number <= done:
                path.rename(path.with_suffix(".committed"))
                continue
            found.append(Segment(spool.name, number, path, list(read_segment(path))))
    return found


def _write(store: Store, segments: list[Segment]) -> Committed:
    transactions: dict[str, int] = {}
    for segment in segments:
        transactions[segment.spool_id] = max(segment.number, transactions.get(segment.spool_id, -1))
    crash.point("commit.before_blobs")
    blobs = _blob_rows(store, segments)
    store.append("blobs", blobs, transactions)
    crash.point("commit.after_blobs")
    rows, repeated = _event_rows(store, segments)
    store.append("events", rows, transactions)
    crash.point("commit.after_write")
    for segment in segments:
        segment.path.rename(segment.path.with_suffix(".committed"))
    crash.point("commit.after_mark")
    return Committed(len(segments), rows.num_rows, blobs.num_rows, repeated)


def _blob_rows(store: Store, segments: list[Segment]) -> pa.Table:
    known = set(store.delta("blobs").to_pyarrow_table(columns=["sha256"]).column(0).to_pylist())
    now = utc_now()
    rows: list[dict[str, Json]] = []
    for segment in segments:
        for record in segment.records:
            sha = record.get("blob")
            if sha is None or sha in known:
                continue
            known.add(sha)
            source = segment.path.parent / "blobs" / sha
            row: dict[str, Json] = {"sha256": sha, "size": record["size"], "mime": record["mime"], "stored_at": now}
            if record["size"] <= MAX_INLINE:
                row["data"] = source.read_bytes()
            else:
                relative = f"{sha[:2]}/{sha}"
                target = store.root / "objects" / relative
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.exists():
                    temporary = target.with_suffix(".tmp")
                    shutil.copyfile(source, temporary)
                    temporary.rename(target)
                    fsync_dir(target.parent)
                row["object_path"] = relative
            rows.append(row)
    return pa.Table.from_pylist(rows, schema=BLOBS.arrow)


def _event_rows(store: Store, segments: list[Segment]) -> tuple[pa.Table, int]:
    streams = {(r["stream_kind"], r["stream_id"]) for s in segments for r in s.records if "type" in r}
    heads = _stream_heads(store, streams)
    now = utc_now()
    rows: list[dict[str, Json]] = []
    repeated = 0
    for segment in segments:
        for record in segment.records:
            if "type" not in record:
                continue
            key = (record["stream_kind"], record["stream_id"])
            expected = heads.get(key, 0)
            if record["seq"] < expected:
                repeated += 1
                continue
            if record["seq"] > expected:
                raise LogError(
                    f"stream {key[0]}/{key[1]} has a gap: next is {expected}, spool {segment.spool_id} brings "
                    f"{record['seq']}; an earlier spool is missing, look below {segment.path.parent.parent}"
                )
            heads[key] = expected + 1
            rows.append(
                {
                    "event_id": event_id(*key, record["seq"]),
                    **{k: record.get(k) for k in EVENTS.arrow.names if k in record},
                    "occurred_at": datetime.fromisoformat(record["occurred_at"]),
                    "recorded_at": now,
                }
            )
    return pa.Table.from_pylist(rows, schema=EVENTS.arrow), repeated


def _stream_heads(store: Store, streams: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Next expected seq of each stream already in the log."""
    table = store.delta("events").to_pyarrow_table(columns=["stream_kind", "stream_id", "seq"])
    heads: dict[tuple[str, str], int] = {}
    for kind, stream, seq in zip(*(table.column(i).to_pylist() for i in range(3)), strict=True):
        if (kind, stream) in streams:
            heads[(kind, stream)] = max(heads.get((kind, stream), 0), seq + 1)
    return heads


def _sweep(spools: Path) -> None:
    """Remove spools whose owner is gone and whose segments are all committed."""
    for spool in spools.iterdir():
        if is_orphan(spool) and not any(spool.glob("*.jsonl")) and not any(spool.glob("*.open")):
            shutil.rmtree(spool)
