"""The committer: turns spools into few Delta commits, exactly once, and only then marks them.

Order: blobs, events, mark, delete. A kill between any two is found again by the next round: the application
transaction (spool id, segment number) in the events table says what is in. A second transaction, the same for all
committers, makes two racing ones conflict, so that each append follows on the stream heads it was checked against.
Does not belong here: raw logs (their ingest has transactions of its own), projections.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable

from lake import blobs as _blobs
from lake import crash
from lake.durable import file_lock
from lake.errors import LogError, ReplayError
from lake.ids import Json, event_id, sha256_hex, utc_now
from lake.schema.log import EVENTS
from lake.spool import (
    UNFINISHED,
    effects_forbidden,
    is_orphan,
    is_stale_unfinished,
    read_segment,
    spool_folders,
    takeable,
)
from lake.store import Prepared, Store, is_done, next_batch

COMMITTERS: Final = "clawgym.committer"
"""Application id every append to `events` carries."""

_BATCH_BYTES: Final = 8 * 1024 * 1024
"""Segment bytes that go into one Delta commit; bounds the memory of a round."""

_TURNS: Final = 5
"""Rounds tried when another committer takes the files away meanwhile."""

StreamKey = tuple[str, str]


@dataclass(frozen=True)
class Segment:
    """One sealed (or abandoned) piece of a spool."""

    spool_id: str
    number: int
    path: Path
    size: int
    streams: dict[StreamKey, tuple[int, int]]
    """First and last seq of each stream in it."""


@dataclass(frozen=True)
class Heads:
    """Next expected seq of streams that are in the log, at a version of `events`."""

    version: int
    heads: dict[StreamKey, int]


Records = Sequence[tuple[Segment, list[dict[str, Json]]]]
"""Segments with what they hold."""


@dataclass(frozen=True)
class Committed:
    """What one round did."""

    segments: int
    events: int
    blobs: int
    repeated: int
    """Events left out since their (stream, seq) was in the log: an effect done twice, or a spool restored."""


def commit(store: Store, *, locked: bool = True) -> Committed:
    """Commit everything that is sealed or abandoned in the spool folder.

    Args:
        store: the tables.
        locked: wait for other committers of this machine; without, they may race, and come out right.

    Raises:
        LogError: a stream has a gap, or a sealed segment is damaged. Nothing of that spool from there on is written;
            the others are.
    """
    if effects_forbidden.get():
        raise ReplayError("a projection tried to commit; projections must be pure functions of the log")
    (store.root / "spool").mkdir(parents=True, exist_ok=True)
    with committing(store) if locked else nullcontext():
        turn = 0
        while True:
            try:
                return _round(store)
            except FileNotFoundError as error:  # another committer took it: see what is left
                turn += 1
                if turn == _TURNS:
                    raise LogError(f"a file of a spool is missing: {error}; run `clawgym lake verify`") from error


def committing(store: Store) -> AbstractContextManager[None]:
    """Wait for other committers of this machine, and keep them waiting."""
    return file_lock(store.root / "locks" / "commit.lock")


def _round(store: Store) -> Committed:
    waiting, problems = _waiting(store)
    if not waiting and not problems:
        _sweep(store.root)
        return Committed(0, 0, 0, 0)
    base = _heads_now(store, {key for segments in waiting.values() for segment in segments for key in segment.streams})
    order, gaps = _in_order(waiting, base.heads)
    total = Committed(0, 0, 0, 0)
    left = deque(_batches(order))
    while left:
        batch = left.popleft()
        try:
            done = _write(store, batch, base)
        except LogError as error:
            if len(batch) == 1:
                problems.append(str(error))
            else:  # one bad spool does not hold up the others
                left.extendleft([segment] for segment in reversed(batch))
            continue
        total = Committed(*(a + b for a, b in zip(_figures(total), _figures(done), strict=True)))
    _sweep(store.root)
    if problems or gaps:
        raise LogError("; ".join([*problems, *gaps]))
    return total


def _figures(done: Committed) -> tuple[int, int, int, int]:
    return (done.segments, done.events, done.blobs, done.repeated)


def _waiting(store: Store) -> tuple[dict[str, list[Segment]], list[str]]:
    """The segments to commit of each spool, in order, and what is wrong with the others."""
    found: dict[str, list[Segment]] = {}
    problems: list[str] = []
    events: DeltaTable | None = None
    for spool in spool_folders(store.root):
        abandoned = is_orphan(spool)  # before listing: a dead owner's folder no longer changes
        paths = takeable(spool, abandoned=abandoned)
        if not paths:
            continue
        events = events or store.delta("events")
        done = events.transaction_version(spool.name)
        number = 0 if done is None else done + 1
        for path in paths:
            at = int(path.stem)
            if at < number:
                _mark(path, [])  # in the log; killed before it was marked
                continue
            if at > number:
                if abandoned:
                    problems.append(f"segment {number} of spool {spool} is missing; restore it or remove the folder")
                break  # of a living owner: seen half-way through a rename, whole the next time
            try:
                found.setdefault(spool.name, []).append(_scan(spool.name, at, path))
            except LogError as error:
                problems.append(str(error))
                break
            number += 1
    return found, problems


def _scan(spool_id: str, number: int, path: Path) -> Segment:
    streams: dict[StreamKey, tuple[int, int]] = {}
    for record in read_segment(path):
        if "type" in record:
            key = (record["stream_kind"], record["stream_id"])
            first, last = streams.get(key, (record["seq"], record["seq"] - 1))
            if record["seq"] != last + 1:
                raise LogError(f"stream {key[0]}/{key[1]} has a gap inside {path}: {record['seq']} after {last}")
            streams[key] = (first, record["seq"])
    return Segment(spool_id, number, path, path.stat().st_size, streams)


def _in_order(waiting: dict[str, list[Segment]], in_log: Mapping[StreamKey, int]) -> tuple[list[Segment], list[str]]:
    """The segments in an order in which every stream is gapless, and what is wrong with those that have none.

    A stream may go on in another spool after its owner died, and spools have no order of their own: those whose turn
    has not come wait for the others.
    """
    heads = dict(in_log)
    order: list[Segment] = []
    left = {spool_id: list(segments) for spool_id, segments in waiting.items()}
    progress = True
    while progress:
        progress = False
        for segments in left.values():
            while segments and all(first <= heads.get(key, 0) for key, (first, _) in segments[0].streams.items()):
                segment = segments.pop(0)
                heads.update({key: max(heads.get(key, 0), last + 1) for key, (_, last) in segment.streams.items()})
                order.append(segment)
                progress = True
    gaps = []
    for segments in left.values():
        for key, (first, _) in segments[0].streams.items() if segments else ():
            if first > heads.get(key, 0):
                gaps.append(
                    f"stream {key[0]}/{key[1]} has a gap: the log ends before seq {heads.get(key, 0)}, "
                    f"{segments[0].path} brings {first}; an earlier spool is missing or its owner still holds it"
                )
    return order, gaps


def _batches(order: Sequence[Segment]) -> Iterator[list[Segment]]:
    batch: list[Segment] = []
    size = 0
    for segment in order:
        if batch and size + segment.size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(segment)
        size += segment.size
    if batch:
        yield batch


def _write(store: Store, batch: list[Segment], base: Heads | None = None) -> Committed:
    records = [(segment, list(read_segment(segment.path))) for segment in batch]
    crash.point("commit.before_blobs")
    new_blobs = [_spooled(segment.path.parent, line) for segment, lines in records for line in lines if "blob" in line]
    blobs = _blobs.append(store, new_blobs) if new_blobs else 0
    crash.point("commit.after_blobs")
    counts = (0, 0, 0)

    def prepare(table: DeltaTable) -> Prepared | None:
        nonlocal counts
        todo = [(segment, lines) for segment, lines in records if not is_done(table, segment.spool_id, segment.number)]
        for segment in {segment.spool_id: segment for segment, _ in reversed(todo)}.values():
            _check_turn(table, segment)  # the first one of each spool
        if not todo:
            counts = (0, 0, 0)
            return None
        rows, repeated = _event_rows(todo, _heads_at(store, todo, table.version(), base))
        counts = (len(todo), rows.num_rows, repeated)
        transactions = {COMMITTERS: next_batch(table, COMMITTERS)}
        for segment, _ in todo:
            transactions[segment.spool_id] = max(segment.number, transactions.get(segment.spool_id, -1))
        return rows, transactions

    store.transact("events", prepare)
    crash.point("commit.after_write")
    for segment, lines in records:
        _mark(segment.path, [record["blob"] for record in lines if "blob" in record])
    crash.point("commit.after_mark")
    return Committed(counts[0], counts[1], blobs, counts[2])


def _check_turn(table: DeltaTable, segment: Segment) -> None:
    """A segment is written behind the one before it, or its transaction would cover that one as well."""
    done = table.transaction_version(segment.spool_id)
    if segment.number != (0 if done is None else done + 1):
        raise LogError(f"{segment.path} has to wait for the segment before it")


def _spooled(spool: Path, record: dict[str, Json]) -> _blobs.NewBlob:
    sha = str(record["blob"])

    def read() -> bytes:
        data = (spool / "blobs" / sha).read_bytes()
        if sha256_hex(data) != sha:
            raise LogError(f"blob {sha} of spool {spool} is damaged; restore the file or remove the folder")
        return data

    return _blobs.NewBlob(sha, record["size"], record["mime"], read)


def _event_rows(todo: Records, heads: dict[StreamKey, int]) -> tuple[pa.Table, int]:
    """The rows to add on top of these stream heads, and how many events were in the log already."""
    now = utc_now()
    rows: list[dict[str, Json]] = []
    repeated = 0
    for segment, lines in todo:
        for record in lines:
            if "type" not in record:
                continue
            key = (record["stream_kind"], record["stream_id"])
            expected = heads.get(key, 0)
            if record["seq"] < expected:
                repeated += 1
                continue
            if record["seq"] > expected:
                raise LogError(f"stream {key[0]}/{key[1]} has a gap: next is {expected}, {segment.path} brings more")
            heads[key] = expected + 1
            rows.append(
                {
                    "event_id": event_id(*key, record["seq"]),
                    **{name: record[name] for name in EVENTS.arrow.names if name in record},
                    "occurred_at": datetime.fromisoformat(record["occurred_at"]),
                    "recorded_at": now,
                }
            )
    rows.sort(key=lambda row: (row["stream_kind"], row["stream_id"], row["seq"]))
    return pa.Table.from_pylist(rows, schema=EVENTS.arrow), repeated


def _heads_now(store: Store, streams: set[StreamKey]) -> Heads:
    version = store.version("events")
    return Heads(version, _stream_heads(store, streams, version))


def _heads_at(store: Store, todo: Records, version: int, base: Heads | None) -> dict[StreamKey, int]:
    """Stream heads at the version an append follows on; those of the round's start where nothing came between."""
    if base is not None and base.version == version:
        return dict(base.heads)
    return _stream_heads(store, {key for segment, _ in todo for key in segment.streams}, version)


def _stream_heads(store: Store, streams: set[StreamKey], version: int) -> dict[StreamKey, int]:
    """Next expected seq of those of the streams that are in the log at a version."""
    if not streams:
        return {}
    ordered = sorted(streams)
    wanted = pa.table({"stream_kind": [kind for kind, _ in ordered], "stream_id": [stream for _, stream in ordered]})
    cursor = store.engines.get().cursor({"events": store.place("events", version)})
    cursor.register("wanted", wanted)
    found = cursor.execute(
        "select stream_kind, stream_id, max(seq) + 1 from events semi join wanted using (stream_kind, stream_id)"
        " group by all"
    ).fetchall()
    return {(kind, stream): head for kind, stream, head in found}


def _mark(path: Path, blobs: Sequence[str]) -> None:
    """Say that a segment is in the log, so that no later round reads it, and drop its blobs."""
    for sha in blobs:
        (path.parent / "blobs" / sha).unlink(missing_ok=True)
    try:
        path.rename(path.with_suffix(".committed"))
    except FileNotFoundError:
        return  # another committer did


def _sweep(root: Path) -> None:
    """Remove spools whose owner is gone and whose segments are all committed."""
    for spool in spool_folders(root):
        if is_orphan(spool) and not takeable(spool, abandoned=True):
            shutil.rmtree(spool, ignore_errors=True)
    for folder in (root / "spool").glob(f"{UNFINISHED}*"):
        if is_stale_unfinished(folder):
            shutil.rmtree(folder, ignore_errors=True)
