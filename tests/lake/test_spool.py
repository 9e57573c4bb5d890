"""The spool and its committer: what becomes durable when, what is taken, what is refused."""

from __future__ import annotations

import gc
import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

import lake
from lake import Lake
from lake.errors import LogError, ReplayError
from lake.ids import event_id, sha256_hex
from lake.schema.log import EVENTS
from lake.settings import MAX_PAYLOAD
from lake.spool import UNFINISHED, Spool, effects_forbidden, is_orphan
from tests.lake import processes
from tests.lake.workload import WHEN


def write_and_hold(root: Path, ready: str, seal: bool) -> None:
    """Write two events, then die without closing (in a process of its own)."""
    spool = Spool(root, actor="tests")
    stream = spool.stream("persona", "p")
    stream.emit("persona.noted", {"n": 0})
    if seal:
        spool.seal()
    stream.emit("persona.noted", {"n": 1})
    Path(ready).write_text(spool.spool_id)
    os._exit(9)


def payloads(lake_: Lake) -> list[object]:
    return [event.payload for event in lake_.events()]


def test_event_comes_back_as_it_was_stated(empty: Lake) -> None:
    with empty.spool("tests", run_id="run-1") as spool:
        first = spool.stream("persona", "p").emit("persona.created", {"ü": [1, None, 2.5]}, occurred_at=WHEN)
        spool.stream("skill", "s").emit("skill.imported", {}, type_version=3, caused_by=first)
    done = empty.commit()
    assert (done.segments, done.events, done.blobs, done.repeated) == (1, 2, 0, 0)
    created, imported = empty.events()
    assert created.event_id == first == event_id("persona", "p", 0)
    assert created.payload == {"ü": [1, None, 2.5]}
    assert created.occurred_at.tzinfo is UTC
    assert (created.occurred_at, created.actor, created.seq, created.type_version) == (WHEN, "tests", 0, 1)
    assert (imported.caused_by, imported.type_version) == (first, 3)
    assert empty.rows("events")[0]["run_id"] == "run-1"
    assert not list((empty.root / "spool").iterdir())


def test_nothing_to_commit_writes_no_version(empty: Lake) -> None:
    before = empty.store.version("events")
    assert empty.commit().segments == 0
    assert empty.store.version("events") == before


def test_payload_at_the_limit_stays_inline_and_one_byte_more_becomes_a_blob(empty: Lake) -> None:
    room = MAX_PAYLOAD - len('{"x":""}')
    with empty.spool("tests") as spool:
        stream = spool.stream("persona", "p")
        stream.emit("persona.noted", {"x": "a" * room})
        stream.emit("persona.noted", {"x": "a" * (room + 1)})
        stream.emit("persona.noted", {"x": "€" * (room // 3 + 1)})
    empty.commit()
    inline = [row["payload"] is not None for row in empty.rows("events")]
    assert inline == [True, False, False], "the limit counts bytes"
    assert [len(event.payload["x"]) for event in empty.events()] == [room, room + 1, room // 3 + 1]


def test_lone_surrogates_survive(empty: Lake) -> None:
    with empty.spool("tests") as spool:
        spool.stream("persona", "p").emit(
            "persona.noted", {"name": "caf\udce9.txt", "big": "\ud83d" + "x" * MAX_PAYLOAD}
        )
    empty.commit()
    (event,) = empty.events()
    assert event.payload["name"] == "caf\udce9.txt"
    assert event.payload["big"].startswith("\ud83d")


def test_nan_in_a_payload_is_an_error(empty: Lake) -> None:
    with empty.spool("tests") as spool, pytest.raises(ValueError, match="not JSON compliant"):
        spool.stream("persona", "p").emit("persona.noted", {"x": float("nan")})
    assert empty.commit().events == 0


def test_time_without_zone_is_an_error(empty: Lake) -> None:
    with empty.spool("tests") as spool, pytest.raises(LogError, match="has no time zone"):
        spool.stream("persona", "p").emit("persona.noted", {}, occurred_at=datetime(2026, 1, 1))


def test_sealed_segments_of_a_living_owner_are_taken_and_it_goes_on(empty: Lake) -> None:
    with empty.spool("tests") as spool:
        stream = spool.stream("persona", "p")
        stream.emit("persona.noted", {"n": 0, "blob": spool.put_blob(b"one")})
        spool.seal()
        stream.emit("persona.noted", {"n": 1})
        assert empty.commit().events == 1, "the open segment stays its owner's"
        assert spool.path.exists()
        assert empty.commit().events == 0
        stream.emit("persona.noted", {"n": 2, "blob": spool.put_blob(b"one")})
    assert empty.commit().events == 2
    assert [event.payload["n"] for event in empty.events()] == [0, 1, 2]
    assert empty.table("blobs").num_rows == 1


def test_segment_seals_itself_at_its_limit(empty: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lake.spool.SEGMENT_BYTES", 2000)
    with empty.spool("tests") as spool:
        stream = spool.stream("persona", "p")
        for n in range(20):
            stream.emit("persona.noted", {"n": n, "pad": "x" * 200})
        assert len(list(spool.path.glob("*.jsonl"))) > 1
    assert empty.commit().events == 20


def test_many_segments_go_into_few_commits(empty: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lake.commit._BATCH_BYTES", 4000)
    for i in range(10):
        with empty.spool("tests") as spool:
            for n in range(5):
                spool.stream("persona", f"p{i}").emit("persona.noted", {"n": n, "pad": "x" * 100})
    done = empty.commit()
    assert (done.segments, done.events) == (10, 50)
    assert 2 <= empty.store.version("events") <= 5


@pytest.mark.parametrize("seal", [False, True])
def test_dead_owner_is_taken_and_a_new_owner_goes_on(empty: Lake, tmp_path: Path, seal: bool) -> None:
    assert processes.run(write_and_hold, empty.root, str(tmp_path / "id"), seal) == 9
    assert empty.commit().events == 2
    with empty.spool("tests") as spool:
        spool.stream("persona", "p", next_seq=2).emit("persona.noted", {"n": 2})
    assert empty.commit().events == 1
    assert payloads(empty) == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_torn_last_line_of_a_dead_owner_ends_its_stream(empty: Lake, tmp_path: Path) -> None:
    processes.run(write_and_hold, empty.root, str(tmp_path / "id"), False)
    segment = empty.root / "spool" / (tmp_path / "id").read_text() / "000000.open"
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-7])
    assert empty.commit().events == 1
    assert payloads(empty) == [{"n": 0}]


def test_blob_of_a_dead_owner_that_did_not_reach_the_disk_ends_its_segment(empty: Lake, tmp_path: Path) -> None:
    processes.run(write_and_hold, empty.root, str(tmp_path / "id"), False)
    spool = empty.root / "spool" / (tmp_path / "id").read_text()
    sha = "0" * 64
    (spool / "blobs" / sha).write_bytes(b"")  # what a power cut leaves of a file never synced
    first, second = (spool / "000000.open").read_bytes().splitlines(keepends=True)
    blob = json.dumps({"blob": sha, "mime": "text/plain", "size": 5}).encode() + b"\n"
    (spool / "000000.open").write_bytes(first + blob + second)
    done = empty.commit()
    assert (done.events, done.blobs) == (1, 0)


def test_damage_in_a_sealed_segment_is_an_error_and_others_go_on(empty: Lake) -> None:
    for name in ("a", "b"):
        with empty.spool("tests") as spool:
            spool.stream("persona", name).emit("persona.noted", {})
    damaged = sorted((empty.root / "spool").iterdir())[0] / "000000.jsonl"
    damaged.write_bytes(damaged.read_bytes()[:-5])
    with pytest.raises(LogError, match=f"line 1 of the sealed segment {damaged} is damaged"):
        empty.commit()
    assert len(payloads(empty)) == 1
    assert damaged.exists()


def test_damaged_blob_of_a_spool_is_an_error(empty: Lake) -> None:
    with empty.spool("tests") as spool:
        sha = spool.put_blob(b"good")
    (spool.path / "blobs" / sha).write_bytes(b"evil")
    with pytest.raises(LogError, match=f"blob {sha} of spool .* is damaged"):
        empty.commit()
    assert empty.table("blobs").num_rows == 0


def test_damaged_blob_holds_up_its_own_spool_only(empty: Lake) -> None:
    for name in ("a", "b", "c"):
        with empty.spool("tests") as spool:
            for n in range(2):
                spool.stream("persona", name).emit("persona.noted", {"blob": spool.put_blob(f"{name}{n}".encode())})
                spool.seal()
    (damaged, *_) = sorted((empty.root / "spool").iterdir())
    first = json.loads((damaged / "000000.jsonl").read_bytes().splitlines()[0])["blob"]
    (damaged / "blobs" / first).write_bytes(b"evil")
    for _ in range(2):
        with pytest.raises(
            LogError, match=rf"blob {first} of spool .* is damaged.* has to wait for the segment before"
        ):
            empty.commit()
        assert len(payloads(empty)) == 4
    (damaged / "blobs" / first).write_bytes(next(n for n in (b"a0", b"b0", b"c0") if sha256_hex(n) == first))
    assert empty.commit().events == 2


def test_no_batch_overtakes_a_refused_segment(empty: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction of segment 1 would say that segment 0 is in as well."""
    test_damaged_blob_holds_up_its_own_spool_only(empty)
    monkeypatch.setattr("lake.commit._BATCH_BYTES", 700)  # several batches, the refused spool in two of them
    test_damaged_blob_holds_up_its_own_spool_only(lake.open(empty.root.with_name("other")))


def test_gap_is_refused_and_nothing_of_it_written(empty: Lake) -> None:
    with empty.spool("tests") as spool:
        spool.stream("persona", "p", next_seq=1).emit("persona.noted", {})
    with pytest.raises(LogError, match=r"stream persona/p has a gap: the log ends before seq 0, .* brings 1"):
        empty.commit()
    assert empty.store.version("events") == 0
    assert spool.path.exists(), "it waits for what is missing"
    with empty.spool("tests") as missing:
        missing.stream("persona", "p").emit("persona.noted", {})
    assert empty.commit().events == 2


def test_gap_inside_a_segment_is_refused(empty: Lake) -> None:
    with empty.spool("tests") as spool:
        stream = spool.stream("persona", "p")
        for _ in range(3):
            stream.emit("persona.noted", {})
    segment = spool.path / "000000.jsonl"
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(lines[0] + lines[2])
    with pytest.raises(LogError, match="has a gap inside"):
        empty.commit()
    assert not payloads(empty)


def test_missing_segment_is_refused(empty: Lake) -> None:
    with empty.spool("tests") as spool:
        for name in ("a", "b"):
            spool.stream("persona", name).emit("persona.noted", {})
            spool.seal()
    (spool.path / "000000.jsonl").unlink()
    with pytest.raises(LogError, match=r"segment 0 of spool .* is missing"):
        empty.commit()
    assert not payloads(empty)


def test_spools_that_go_on_from_one_another_are_put_in_order(empty: Lake) -> None:
    for seq in range(6):  # folder names are random: some order of these is wrong
        with empty.spool("tests") as spool:
            spool.stream("persona", "p", next_seq=seq).emit("persona.noted", {"n": seq})
    assert empty.commit().events == 6
    assert [event.payload["n"] for event in empty.events()] == list(range(6))


def test_effect_done_twice_counts_once(empty: Lake) -> None:
    for word in ("first", "second"):
        with empty.spool("tests") as spool:
            spool.stream("persona", "p").emit("persona.noted", {"word": word})
        done = empty.commit()
    assert (done.events, done.repeated) == (0, 1)
    assert payloads(empty) == [{"word": "first"}]


def test_unmarked_segment_that_is_in_the_log_is_not_read_again(empty: Lake) -> None:
    spool = empty.spool("tests")
    spool.stream("persona", "p").emit("persona.noted", {})
    spool.seal()
    empty.commit()
    (spool.path / "000000.committed").rename(spool.path / "000000.jsonl")
    done = empty.commit()
    assert (done.segments, done.events, done.repeated) == (0, 0, 0)
    spool.close()
    empty.commit()
    assert not spool.path.exists()


def test_spool_is_never_seen_without_its_owner(empty: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    real = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if self.name.startswith(UNFINISHED):
            empty.commit()  # a committer comes along at the worst moment
            seen.append(is_orphan(self))
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with empty.spool("tests") as spool:
        assert seen == [False], "locked before it has its name"
        spool.stream("persona", "p").emit("persona.noted", {})
    assert empty.commit().events == 1


def test_closed_spool_says_so(empty: Lake) -> None:
    spool = empty.spool("tests")
    stream = spool.stream("persona", "p")
    spool.close()
    spool.close()
    with pytest.raises(LogError, match=r"is closed; open a new one for event persona\.noted"):
        stream.emit("persona.noted", {})
    with pytest.raises(LogError, match="is closed"):
        spool.put_blob(b"x")


def test_forked_child_neither_writes_nor_keeps_the_lock(empty: Lake) -> None:
    spool = empty.spool("tests")
    stream = spool.stream("persona", "p")
    stream.emit("persona.noted", {"by": "parent"})
    reader, writer = os.pipe()
    waiting, release = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            stream.emit("persona.noted", {"by": "child"})
            os.write(writer, b"emitted")
        except LogError:
            os.write(writer, b"refused")
        spool.close()
        os.close(release)
        os.read(waiting, 1)  # lives on until the parent says so
        os._exit(0)
    try:
        assert os.read(reader, 7) == b"refused"
        stream.emit("persona.noted", {"by": "parent"})
        spool.close()
        assert is_orphan(spool.path), "the child holds no lock"
        assert empty.commit().events == 2
    finally:
        for end in (release, waiting, reader, writer):
            os.close(end)
        os.waitpid(child, 0)


def test_threads_share_a_spool(empty: Lake) -> None:
    with empty.spool("tests") as spool:

        def work(name: str) -> None:
            stream = spool.stream("persona", name)
            for n in range(50):
                stream.emit("persona.noted", {"n": n, "blob": spool.put_blob(b"%d" % (n % 7))})

        threads = [threading.Thread(target=work, args=(f"p{i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    done = empty.commit()
    assert (done.events, done.blobs) == (200, 7)


def test_projection_may_not_append(empty: Lake) -> None:
    token = effects_forbidden.set(True)
    try:
        for attempt in (lambda: empty.spool("tests"), empty.commit, lambda: empty.put_blobs([b"x"])):
            with pytest.raises(ReplayError, match="pure functions"):
                attempt()
    finally:
        effects_forbidden.reset(token)


def test_foreign_files_in_the_spool_folder_are_left_alone(empty: Lake) -> None:
    (empty.root / "spool").mkdir(exist_ok=True)
    (empty.root / "spool" / ".DS_Store").write_bytes(b"x")
    with empty.spool("tests") as spool:
        spool.stream("persona", "p").emit("persona.noted", {})
        (spool.path / "notes.jsonl").write_text("not a segment")
    assert empty.commit().events == 1
    assert (empty.root / "spool" / ".DS_Store").exists()


def test_rows_are_in_the_declared_schema(empty: Lake) -> None:
    with empty.spool("tests") as spool:
        spool.stream("persona", "p").emit("persona.noted", {})
    empty.commit()
    assert empty.table("events").schema.equals(EVENTS.arrow)
    assert lake.open(empty.root).table("events").num_rows == 1


def test_spool_that_nobody_closed_is_taken_when_it_goes(empty: Lake) -> None:
    spool = empty.spool("tests")
    spool.stream("persona", "p").emit("persona.noted", {})
    with pytest.warns(ResourceWarning, match="was never closed"):
        del spool
        gc.collect()
    assert empty.commit().events == 1
