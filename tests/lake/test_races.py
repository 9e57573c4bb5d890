"""Racing processes and overtaken committers: each thing gets in once, and a loser takes it as done by the other."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import lake
from lake import Lake
from lake.commit import Committed, _scan, _write, commit
from lake.schema.log import SNAPSHOTS
from lake.store import Store
from lake.verify import verify
from tests.lake import processes, racing, workload

RACERS = 4


def fill(lake_: Lake, spools: int, shared_blob: bytes = b"shared") -> None:
    for i in range(spools):
        with lake_.spool("tests") as spool:
            stream = spool.stream("persona", f"p{i}")
            blob = spool.put_blob(shared_blob)
            for seq in range(3):
                stream.emit("persona.noted", {"seq": seq, "blob": blob, "own": spool.put_blob(b"%d %d" % (i, seq))})


def test_committers_without_the_lock_write_each_event_once(empty: Lake) -> None:
    fill(empty, 12)
    start = processes.barrier(RACERS)
    codes = processes.run_all([(racing.commit_unlocked, (empty.root, start))] * RACERS)
    assert codes == [0] * RACERS
    assert len(list(empty.events())) == 36
    assert verify(empty).ok
    assert not list((empty.root / "spool").iterdir())


def test_racing_ingests_append_each_batch_and_blob_once(empty: Lake) -> None:
    start = processes.barrier(RACERS)
    codes = processes.run_all([(racing.append_batches, (empty.root, start))] * RACERS)
    assert codes == [0] * RACERS
    assert empty.table("raw_records").num_rows == 12
    assert verify(empty).ok


def test_racing_appends_of_one_application_come_in_once_each(empty: Lake) -> None:
    start = processes.barrier(RACERS)
    codes = processes.run_all([(racing.append_same, (empty.root, start, 8))] * RACERS)
    assert codes == [0] * RACERS
    assert sorted(row["snapshot_id"] for row in empty.rows("snapshots")) == [f"s{i}" for i in range(8)]


def test_racing_builds_write_once(empty: Lake) -> None:
    workload.ingest(empty)
    workload.effects(empty)
    empty.commit()
    start = processes.barrier(RACERS)
    codes = processes.run_all([(racing.build_both, (empty.root, start))] * RACERS)
    assert codes == [0] * RACERS
    assert empty.store.version("personas") == 1, "the others found it built"
    assert empty.table("personas").num_rows == workload.STREAMS


def overtake(monkeypatch: pytest.MonkeyPatch, table: str, other: Any) -> list[str]:
    """Let `other` run between the moment a committer has prepared its rows and its write to `table`."""
    happened: list[str] = []

    def write(target: Any, *args: Any, **kwargs: Any) -> None:
        if not happened and target.table_uri.rstrip("/").endswith(f"/{table}"):
            happened.append(table)
            other()
        write_deltalake(target, *args, **kwargs)

    monkeypatch.setattr("lake.store.write_deltalake", write)
    return happened


def test_loser_writes_what_the_winner_left(empty: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(empty, 3)
    first = sorted((empty.root / "spool").iterdir())[0]

    def winner() -> None:
        done = _write(Store(empty.root), [_scan(first.name, 0, first / "000000.jsonl")])
        assert done.segments == 1

    happened = overtake(monkeypatch, "events", winner)
    done = commit(Store(empty.root), locked=False)
    assert happened
    assert (done.segments, done.events, done.repeated) == (2, 6, 0)
    assert len(list(empty.events())) == 9
    assert verify(empty).ok


def test_loser_of_everything_finds_nothing_to_do(empty: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(empty, 3)
    happened = overtake(monkeypatch, "events", lambda: commit(Store(empty.root), locked=False))
    done = commit(Store(empty.root), locked=False)
    assert happened
    assert (done.segments, done.events) == (0, 0)
    assert len(list(empty.events())) == 9


def test_blobs_of_an_overtaken_committer_are_not_added_twice(empty: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(empty, 2)
    happened = overtake(monkeypatch, "blobs", lambda: commit(Store(empty.root), locked=False))
    commit(Store(empty.root), locked=False)
    assert happened
    shas = empty.table("blobs").column("sha256").to_pylist()
    assert len(shas) == len(set(shas)) == 7
    assert verify(empty).ok


def test_two_spools_of_one_stream_racing_give_each_seq_once(empty: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """An effect done twice by two producers: per-spool transactions differ, the stream heads decide."""
    for word in ("one", "two"):
        with empty.spool("tests") as spool:
            spool.stream("persona", "p").emit("persona.noted", {"by": word})
    first, second = sorted((empty.root / "spool").iterdir())

    def winner() -> None:
        _write(Store(empty.root), [_scan(first.name, 0, first / "000000.jsonl")])

    overtake(monkeypatch, "events", winner)
    done = _write(Store(empty.root), [_scan(second.name, 0, second / "000000.jsonl")])
    assert done == Committed(segments=1, events=0, blobs=0, repeated=1)
    assert len(list(empty.events())) == 1


def test_append_again_is_refused_and_part_of_a_batch_is_an_error(empty: Lake) -> None:
    row = {"snapshot_id": "s", "recorded_at": workload.WHEN, "run_id": None, "reason": "r", "versions": "{}"}
    rows = pa.Table.from_pylist([row], schema=SNAPSHOTS.arrow)
    assert empty.store.append("snapshots", rows, {"a": 1})
    assert not empty.store.append("snapshots", rows, {"a": 1})
    assert not empty.store.append("snapshots", rows, {"a": 0}), "an earlier batch is in as well"
    with pytest.raises(lake.errors.LakeError, match="others of the same commit are not"):
        empty.store.append("snapshots", rows, {"a": 1, "b": 0})
    assert len(empty.rows("snapshots")) == 1


def test_versions_seen_by_another_process_are_found(empty: Lake) -> None:
    other = Store(empty.root)
    assert other.version("events") == 0
    fill(empty, 1)
    empty.commit()
    assert other.version("events") == empty.store.version("events") == 1
