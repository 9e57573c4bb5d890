"""Forgetting a source takes its bytes off the disk and leaves a tombstone; compaction keeps every row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

import lake
from lake import Lake
from lake.compact import compact
from lake.errors import LakeError, ReplayError, UsageError
from lake.forget import forget
from lake.ids import sha256_hex
from lake.replay import replay
from lake.spool import effects_forbidden
from lake.verify import verify
from tests.lake import workload
from tests.lake.workload import PROJECTIONS, SOURCE, raw_rows

OTHER = "6" * 64
SECRET = b"the-secret-word-nobody-may-keep"


@pytest.fixture
def filled(empty: Lake) -> Lake:
    workload.run(empty.root)
    large = SECRET * 50_000
    rows = [{**raw_rows(0)[0], "position": i, "raw": raw} for i, raw in enumerate((SECRET, large, b"plain"))]
    empty.append_raw(OTHER, 0, rows)
    for projection in PROJECTIONS:
        empty.build(projection)
    return empty


def files_with(root: Path, word: bytes) -> Iterator[Path]:
    """Files that hold a word, uncompressed or in Parquet."""
    import pyarrow.parquet as pq

    for path in root.rglob("*"):
        if path.suffix == ".parquet" and path.parent.name != "_delta_log":
            found = any(word in repr(row).encode() for row in pq.read_table(path).to_pylist())
        else:
            found = path.is_file() and word in path.read_bytes()
        if found:
            yield path


def test_bytes_are_gone_and_a_tombstone_stays(filled: Lake) -> None:
    before = filled.snapshot("before")
    assert len(list(files_with(filled.root, SECRET))) == 2
    done = forget(filled, OTHER, reason="asked to", actor="tests", projections=PROJECTIONS)
    assert (done.records, done.blobs, done.rebuilt) == (3, 1, ("personas", "ledger"))
    assert done.bytes == len(SECRET) * 50_001 + 5
    assert not list(files_with(filled.root, SECRET))
    assert {row["source_id"] for row in filled.rows("raw_records")} == {SOURCE}
    assert [row["source_id"] for row in filled.rows("ledger")] == [SOURCE]
    (event,) = filled.events("source.forgotten")
    assert (event.stream_id, event.payload["reason"], event.payload["actor"]) == (OTHER, "asked to", "tests")
    assert event.payload["blobs"] == [{"sha256": sha256_hex(SECRET * 50_000), "size": len(SECRET) * 50_000}]
    assert verify(filled).ok
    assert replay(filled, PROJECTIONS).ok
    with pytest.raises(LakeError, match="cannot be read"):
        filled.at(before).table("raw_records")
    assert filled.at(before).table("events").num_rows == 13, "what held nothing of it stays"


def test_forgotten_source_does_not_come_back(filled: Lake) -> None:
    forget(filled, OTHER, reason="r", actor="tests")
    assert not filled.append_raw(OTHER, 7, [{**raw_rows(0)[0], "raw": SECRET}])
    assert not filled.append_raw(OTHER, 0, [{**raw_rows(0)[0], "version": 1}])
    assert filled.table("raw_records").num_rows == 12


def test_blobs_that_others_name_stay(filled: Lake) -> None:
    shared = raw_rows(0)[3]["raw"]
    filled.append_raw("7" * 64, 0, [{**raw_rows(0)[0], "raw": shared}])
    named = b"named in a payload" * 100_000
    filled.append_raw("7" * 64, 1, [{**raw_rows(0)[1], "raw": named}])
    with filled.spool("tests") as spool:
        spool.stream("skill", "s").emit("skill.imported", {"deep": [{"sha256": sha256_hex(named)}]})
    filled.commit()
    done = forget(filled, "7" * 64, reason="r", actor="tests")
    assert (done.records, done.blobs) == (2, 0)
    assert filled.blob(sha256_hex(shared)) == shared
    assert filled.blob(sha256_hex(named)) == named


def test_goes_on_after_a_kill(filled: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lake.forget._delete", killed)
    with pytest.raises(KeyboardInterrupt):
        forget(filled, OTHER, reason="first", actor="tests")
    monkeypatch.undo()
    done = forget(lake.open(filled.root), OTHER, reason="second", actor="tests", projections=PROJECTIONS)
    assert done.records == 3
    assert [event.payload["reason"] for event in filled.events("source.forgotten")] == ["first"]
    assert not list(files_with(filled.root, SECRET))


def test_attempts_folder_goes_when_the_rows_went_before_a_kill(empty: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = "a" * 20
    folder = empty.root / "attempts" / attempt
    folder.mkdir(parents=True)
    (folder / "s.jsonl").write_bytes(SECRET)
    with empty.spool("tests") as spool:
        stream = spool.stream("attempt", attempt)
        stream.emit("attempt.planned", {"attempt_id": attempt})
        stream.emit("attempt.ended", {"attempt_id": attempt})
    empty.append_raw(OTHER, 0, [{**raw_rows(0)[0], "position": 0, "raw": SECRET, "attempt_id": attempt}])
    empty.commit()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lake.leftovers.remove_objects", killed)
    with pytest.raises(KeyboardInterrupt):
        forget(empty, OTHER, reason="first", actor="tests")
    monkeypatch.undo()
    assert folder.exists()
    forget(lake.open(empty.root), OTHER, reason="second", actor="tests")
    assert not folder.exists() and not list(files_with(empty.root, SECRET))


def test_unknown_source_says_so(filled: Lake) -> None:
    with pytest.raises(UsageError, match="there is no source 'x'"):
        forget(filled, "x", reason="r", actor="tests")
    with pytest.raises(UsageError, match="there is no source"):
        forget(filled, "' or 1=1 --", reason="r", actor="tests")
    assert filled.table("raw_records").num_rows == 15


def test_compaction_keeps_every_row_and_every_snapshot(empty: Lake) -> None:
    snapshots: dict[str, int] = {}
    for n in range(4):
        with empty.spool("tests") as spool:
            blob = spool.put_blob(b"n%d" % n)
            spool.stream("persona", f"p{n}").emit("persona.created", {"text": "t", "blob": blob})
        empty.commit()
        empty.build(workload.PERSONAS)
        snapshots[empty.snapshot(f"s{n}")] = n + 1
    digest = empty.build_record("personas")["digest"]
    done = {table.table: table for table in compact(empty, vacuum=True).tables}
    assert (done["events"].files_before, done["events"].files_after) == (4, 1)
    assert empty.build(workload.PERSONAS).skipped, "the same rows need no new build"
    assert empty.build_record("personas")["digest"] == digest
    for snapshot, count in snapshots.items():
        assert empty.at(snapshot).table("personas").num_rows == count
        assert len(list(empty.at(snapshot).events())) == count
    assert verify(empty).ok


def test_vacuum_removes_what_no_snapshot_names(empty: Lake) -> None:
    for n in range(3):
        with empty.spool("tests") as spool:
            blob = spool.put_blob(b"n%d" % n)
            spool.stream("persona", f"p{n}").emit("persona.created", {"text": "t", "blob": blob})
        empty.commit()
        empty.build(workload.PERSONAS)
        if n == 0:
            kept = empty.snapshot("kept")
    (done,) = compact(empty, ["personas"], vacuum=True, keep_hours=0).tables
    assert done.files_removed == 1
    assert empty.at(kept).table("personas").num_rows == 1
    assert empty.table("personas").num_rows == 3


class _Overtaken:
    """A table whose vacuum is overtaken as often as said; the race itself cannot be timed."""

    def __init__(self, table: DeltaTable, left: list[int]) -> None:
        self._table = table
        self._left = left

    def __getattr__(self, name: str) -> Any:
        if name == "vacuum" and self._left[0]:
            self._left[0] -= 1
            raise CommitFailedError("a concurrent\ntransaction")
        return getattr(self._table, name)


@pytest.mark.parametrize("times", [2, 1000])
def test_compaction_overtaken_tries_again_and_says_when_it_gives_up(
    empty: Lake, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    for n in range(3):
        with empty.spool("tests") as spool:
            spool.stream("persona", f"p{n}").emit("persona.created", {"text": "t", "blob": "0" * 64})
        empty.commit()
    left, delta = [times], empty.store.delta
    monkeypatch.setattr("lake.compact._PAUSE", 0)
    monkeypatch.setattr(empty.store, "delta", lambda name: _Overtaken(delta(name), left))
    if times > 100:
        with pytest.raises(LakeError, match=r"table events .* overtaken by a writer \(a concurrent transaction\)"):
            compact(empty, ["events"], vacuum=True, keep_hours=0)
    else:
        (done,) = compact(empty, ["events"], vacuum=True, keep_hours=0).tables
        assert (done.files_before, done.files_after, done.files_removed) == (3, 1, 3)
    monkeypatch.undo()
    assert len(list(empty.events())) == 3


def test_projection_may_do_neither(empty: Lake) -> None:
    token = effects_forbidden.set(True)
    try:
        with pytest.raises(ReplayError, match="pure functions"):
            compact(empty)
        with pytest.raises(ReplayError, match="pure functions"):
            forget(empty, SOURCE, reason="r", actor="tests")
    finally:
        effects_forbidden.reset(token)
