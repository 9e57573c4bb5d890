"""`lake compact` and `lake forget` through the command line, to the bytes on disk."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import lake
from clawgym_dag.stages import STAGES
from lake.forget import forget
from lake.ids import sha256_hex, utc_now
from lake.replay import replay
from lake.verify import verify
from tests.clawgym_dag.conftest import Call
from tests.lake.workload import raw_rows

CANARY = "canary-7f3e-nobody-may-keep-this"
BASELINE = Path(__file__).parent.parent / "fixtures" / "openclaw" / "handmade" / "baseline.jsonl"


def session(path: Path, number: int, word: str) -> Path:
    """A session whose user, tool and file say `word`; one record is too large for a row."""
    text = BASELINE.read_text(encoding="utf-8").replace("0000000001", f"{number:010}")
    text = text.replace("list the files please", f"list the files please, {word}")
    lines = text.replace("total 0", f"{word} " * 60_000).splitlines()
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def holding(root: Path, word: str) -> Iterator[Path]:
    """Files below a folder that hold a word: as bytes, or in a cell of a Parquet file."""
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        found = word.encode() in path.read_bytes()
        if path.suffix == ".parquet" and not found:
            found = any(word in repr(row) for row in pq.read_table(path, partitioning=None).to_pylist())
        if found:
            yield path


@pytest.fixture
def filled(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lake with two sessions, one of them to be forgotten, ingested in two goes by the command line."""
    root = tmp_path / "lake"
    monkeypatch.setenv("CLAWGYM_LAKE", str(root))
    first = session(tmp_path / "a.jsonl", 1, CANARY)
    whole = first.read_bytes()
    first.write_bytes(b"".join(whole.splitlines(keepends=True)[:5]))
    assert call("lake", "ingest", str(first)).code == 0
    first.write_bytes(whole)
    assert call("lake", "ingest", str(first), str(session(tmp_path / "b.jsonl", 2, "harmless"))).code == 0
    return root


def source_of(root: Path, path: str) -> str:
    (row,) = [row for row in lake.open(root).rows("sources") if row["path"].endswith(path)]
    return str(row["source_id"])


def leave_behind(root: Path) -> None:
    """What kills leave: a data file no commit names, an object half written, work in progress."""
    for folder in (root / "log" / "raw_records", root / "tables" / "steps"):
        copy = folder / "part-of-a-killed-writer.parquet"
        shutil.copy(next(path for path in holding(folder, CANARY) if path.suffix == ".parquet"), copy)
        os.utime(copy, (time.time() - 7200,) * 2)
    (large,) = [path for path in (root / "objects").rglob("*") if path.is_file() and CANARY in path.read_text()]
    shutil.copy(large, large.with_name(f"{large.name}.4242.tmp"))
    (root / "scratch" / "killed").mkdir(parents=True)
    shutil.copy(large, root / "scratch" / "killed" / "rows.arrow")


@pytest.mark.slow
def test_no_byte_of_a_forgotten_source_stays(filled: Path, call: Call, tmp_path: Path) -> None:
    assert call("replay", "trajectories", "--keep").code == 0
    leave_behind(filled)
    places = {path.relative_to(filled).parts[0] for path in holding(filled, CANARY)}
    assert {"log", "tables", "objects", "replay", "scratch"} <= places, "the canary must have been planted"
    source = source_of(filled, "a.jsonl")

    called = call("lake", "forget", "--source", source[:12], "--reason", "asked to", "--actor", "t", "--yes", "--json")
    assert called.code == 0, called.err
    done = json.loads(called.out)
    assert (done["source_id"], done["records"], done["blobs"], done["unfinished"]) == (source, 7, 1, 0)
    assert list(holding(filled, CANARY)) == []
    assert list(holding(filled, "harmless")), "the other session stays"
    assert CANARY in (tmp_path / "a.jsonl").read_text(), "the file it was read from is the user's"

    opened = lake.open(filled)
    (tombstone,) = opened.events("source.forgotten")
    assert (tombstone.payload["reason"], tombstone.payload["actor"]) == ("asked to", "t")
    assert verify(opened).ok
    assert replay(opened, [stage.projection for stage in STAGES]).ok
    assert call("lake", "ingest", str(tmp_path / "a.jsonl")).code == 0
    assert list(holding(filled, CANARY)) == [], "an ingest does not take it in again"
    assert call("lake", "compact", "--vacuum", "--keep-hours", "0").code == 0
    assert verify(lake.open(filled)).ok
    again = call("lake", "forget", "--source", source, "--reason", "twice", "--yes", "--json")
    assert again.code == 0, "a second call goes on where a killed one stopped"


def test_what_a_killed_ingest_stored_goes_with_its_source(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large contents are stored before the rows that name them; a kill in between leaves them without a name."""
    opened = lake.open(tmp_path)
    opened.append_raw("5" * 64, 0, raw_rows(0, 2)[:1])
    young, old = (f"{CANARY} {age}".encode() * 50_000 for age in ("young", "old"))
    opened.put_blobs([young])
    monkeypatch.setattr("lake.blobs.utc_now", lambda: utc_now() - timedelta(hours=2))
    opened.put_blobs([old])
    monkeypatch.undo()
    forgotten = forget(opened, "5" * 64, reason="r", actor="t")
    assert forgotten.blobs == 1
    left = [path.read_bytes() for path in holding(tmp_path / "objects", CANARY)]
    assert left == [young], "what is younger than an hour may belong to a writer at work"


def test_what_came_to_be_named_since_a_kill_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = lake.open(tmp_path)
    large = b"large" * 300_000
    row = {**raw_rows(0, 2)[0], "raw": large}
    opened.append_raw("5" * 64, 0, [row])

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lake.forget._delete", killed)
    with pytest.raises(KeyboardInterrupt):
        forget(opened, "5" * 64, reason="r", actor="t")
    monkeypatch.undo()
    opened.append_raw("6" * 64, 0, [row])
    forget(opened, "5" * 64, reason="r", actor="t")
    assert opened.blob(sha256_hex(large)) == large


def test_folder_of_an_attempt_that_is_over_goes_with_its_log(tmp_path: Path, call: Call) -> None:
    opened = lake.open(tmp_path / "lake")
    row = {**raw_rows(0, 2)[0], "source_kind": "openclaw.stderr", "attempt_id": "at1"}
    opened.append_raw("8" * 64, 0, [row])
    folder = opened.root / "attempts" / "at1" / "state"
    folder.mkdir(parents=True)
    (folder / "copy.jsonl").write_bytes(row["raw"])
    arguments = ("lake", "forget", "--lake", str(opened.root), "--source", "888", "--reason", "r", "--yes")
    called = call(*arguments)
    assert (called.code, called.err.count("\n")) == (2, 1)
    assert "attempt at1" in called.err and "has not ended" in called.err
    assert opened.table("raw_records").num_rows == 1, "nothing went"
    with opened.spool("tests") as spool:
        spool.stream("attempt", "at1").emit("attempt.lost", {"reason": "test"})
    opened.commit()
    assert forget(opened, "8" * 64, reason="r", actor="t").records == 1
    assert not folder.exists()


@pytest.mark.parametrize(
    ("source", "says"),
    [("zzz", "there is no source 'zzz'"), ("", "there is no source ''"), ("5", "is the beginning of 2 sources")],
)
def test_which_source_must_be_clear(source: str, says: str, call: Call, tmp_path: Path) -> None:
    opened = lake.open(tmp_path)
    for letter in "01":
        opened.append_raw("5" * 63 + letter, 0, raw_rows(0, 2)[:1])
    called = call("lake", "forget", "--lake", str(tmp_path), "--source", source, "--reason", "r", "--yes")
    assert (called.code, called.err.count("\n")) == (2, 1)
    assert says in called.err


def test_forget_asks_on_a_terminal_and_needs_yes_elsewhere(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = lake.open(tmp_path)
    opened.append_raw("5" * 64, 0, raw_rows(0, 2)[:1])
    arguments = ("lake", "forget", "--lake", str(tmp_path), "--source", "5", "--reason", "r")
    called = call(*arguments)
    assert (called.code, called.err.count("\n")) == (2, 1)
    assert "add --yes" in called.err
    monkeypatch.setattr("clawgym_dag.cli.upkeep.sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("clawgym_dag.cli.upkeep.sys.stderr.isatty", lambda: True, raising=False)
    asked: list[str] = []

    def answer(text: str, **_: object) -> bool:
        asked.append(text)
        return False

    monkeypatch.setattr("click.confirm", answer)
    assert call(*arguments).code == 2
    assert asked and opened.table("raw_records").num_rows == 1
    empty = call(*arguments[:-1], " ", "--yes")
    assert (empty.code, "--reason is empty" in empty.err) == (2, True)


def test_compact_merges_files_and_keeps_rows(call: Call, tmp_path: Path) -> None:
    opened = lake.open(tmp_path)
    for n in range(3):
        with opened.spool("tests") as spool:
            spool.stream("persona", f"p{n}").emit("persona.created", {"text": "t"})
        opened.commit()
    called = call("lake", "compact", "events", "--vacuum", "--keep-hours", "0", "--lake", str(tmp_path), "--json")
    assert called.code == 0, called.err
    assert json.loads(called.out)["tables"] == [
        {"table": "events", "files_before": 3, "files_after": 1, "files_removed": 3}
    ]
    assert opened.table("events").num_rows == 3
    assert "files before" in call("lake", "compact", "--lake", str(tmp_path)).out
    unknown = call("lake", "compact", "nonsense", "--lake", str(tmp_path))
    assert (unknown.code, "no table nonsense; there are" in unknown.err) == (2, True)


def test_ingest_says_how_many_and_with_v_which(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWGYM_LAKE", str(tmp_path / "lake"))
    (tmp_path / "logs").mkdir()
    session(tmp_path / "logs" / "a.jsonl", 1, "harmless")
    (tmp_path / "logs" / "notes.txt").write_text("no log\n")
    taken = call("lake", "ingest", str(tmp_path / "logs"))
    assert taken.code == 0
    assert str(tmp_path / "logs") not in taken.err and "openclaw.jsonl: 1 sources" in taken.err
    assert "1 trajectories in the lake; see them: clawgym trajectories list" in taken.out
    again = call("lake", "ingest", "-v", str(tmp_path / "logs"))
    assert f"left {tmp_path}/logs/notes.txt" in again.err
