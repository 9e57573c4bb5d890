"""Many sources in one commit: raced, killed, copied and forgotten ones among others, each exactly once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import lake
from assets.logs import ingest_paths
from assets.logs import loading as loading_module
from assets.logs.catalogue import stream_of
from assets.logs.ingest import Ingest, Taken
from assets.logs.reader import Source
from assets.logs.readers.streams import FileSource
from assets.stage import Context
from lake.forget import forget
from lake.verify import verify

FILES = 6
CODE = (
    "import lake; from assets.logs import ingest_paths; from assets.profile import Profile;"
    "from assets.stage import Context; import sys;"
    "ingest_paths(Context(lake.open(sys.argv[1]), Profile()), sys.argv[2:])"
)


def session(number: int, messages: int = 3) -> bytes:
    lines = [{"type": "session", "version": 3, "id": f"s{number}", "timestamp": "2026-01-02T03:04:05Z"}]
    lines += [{"type": "message", "id": f"m{i}", "message": {"role": "user"}} for i in range(messages)]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "sessions"
    target.mkdir()
    for number in range(FILES):
        (target / f"s{number}.jsonl").write_bytes(session(number))
    return target


def source(path: Path) -> FileSource:
    return FileSource("openclaw.jsonl", str(path), path.stem, path.stem)


def check(context: Context, folder: Path) -> None:
    """Every file is in, whole, once, and stated in a stream without a gap."""
    opened = lake.open(context.lake.root)
    back: dict[str, bytes] = {}
    events = list(opened.events("source.ingested"))
    for event in events:  # the last one of a stream says how it is now
        of = event.payload
        pieces = stream_of(opened, of["source_id"], of["version"], of["source_kind"])
        back[of["session_id"]] = b"".join(raw + b"\n" * newline for raw, newline in pieces) + b"\n"
    assert back == {path.stem: path.read_bytes() for path in folder.iterdir()}
    records = opened.raw_records()
    assert len(set(records["record_key"].to_pylist())) == records.num_rows
    assert verify(opened).ok


def test_many_sources_take_one_commit_with_a_transaction_each(context: Context, folder: Path) -> None:
    before = context.lake.store.version("raw_records")
    assert ingest_paths(context, [folder]) == {"new": FILES, "records": 4 * FILES, "left": 0}
    assert context.lake.store.version("raw_records") == before + 1
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes() + b'{"type":"custom"}\n')
    assert ingest_paths(context, [folder]) == {"grown": FILES, "records": FILES, "left": 0}
    assert context.lake.store.version("raw_records") == before + 2
    check(context, folder)
    assert ingest_paths(context, [folder]) == {"unchanged": FILES, "left": 0}


@pytest.mark.parametrize("point", ["ingest.after_batch", "ingest.before_event:1", "ingest.before_event:4"])
def test_a_kill_between_rows_and_events_is_made_good(context: Context, folder: Path, point: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(context.lake.root), str(folder)],
        env={**os.environ, "CLAWGYM_CRASH_AT": point},
        check=False,
    )
    assert done.returncode == -9
    assert context.lake.raw_records().num_rows == 4 * FILES
    assert not list(context.lake.events("source.ingested"))
    path = folder / "s1.jsonl"
    path.write_bytes(path.read_bytes() + b'{"type":"custom"}\n')  # it even grew in the meantime
    (folder / "s9.jsonl").write_bytes(session(9))
    ingest_paths(context, [folder])
    ingest_paths(context, [folder])
    check(context, folder)


def test_a_source_raced_by_another_process_is_left_to_it_and_the_others_go_in(context: Context, folder: Path) -> None:
    ingest = Ingest(context)
    taken: list[tuple[Source, Taken]] = []
    for path in sorted(folder.iterdir()):
        ingest.take(source(path), then=lambda s, t: taken.append((s, t)))
    assert not taken, "they wait"
    # Between plan and commit another process takes two of them, one in a longer state.
    longer = folder / "s3.jsonl"
    shorter = longer.read_bytes()
    longer.write_bytes(shorter + b'{"type":"custom"}\n')
    subprocess.run(
        [sys.executable, "-c", CODE, str(context.lake.root), str(folder / "s2.jsonl"), str(longer)], check=True
    )
    ingest.flush()
    ingest.close()
    context.lake.commit()
    appended = {Path(s.path).stem: t.appended for s, t in taken}
    assert appended == {"s0": 4, "s1": 4, "s2": 0, "s3": 0, "s4": 4, "s5": 4}
    assert (ingest.counts["new"], ingest.counts["records"]) == (4, 16)
    check(context, folder)


def test_growth_copies_and_changes_of_a_waiting_source_are_seen_in_turn(context: Context, tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    longer = session(0) + b'{"type":"custom"}\n'
    contents = [session(0), longer, session(0), session(0).replace(b"m1", b"mX"), longer]
    for number, content in enumerate(contents):
        (folder / f"{number}.jsonl").write_bytes(content)
    counts = ingest_paths(context, [folder])
    assert counts == {"new": 1, "grown": 1, "changed": 1, "copies": 2, "records": 4 + 1 + 4, "left": 0}
    versions = Counter(context.lake.raw_records()["version"].to_pylist())
    assert versions == {0: 5, 1: 4}
    assert ingest_paths(context, [folder])["unchanged"] == len(contents)


def test_a_file_as_it_was_taken_is_not_looked_into_again(
    context: Context, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "s9.jsonl").write_bytes(session(0, messages=1))  # a prefix of another
    counts = ingest_paths(context, [folder])
    assert (counts["new"], counts["copies"]) == (FILES, 1)
    monkeypatch.setattr("assets.logs.walk.READERS", ())
    files = {path: path.read_bytes() for path in folder.iterdir()}
    assert ingest_paths(context, [folder]) == {"unchanged": len(files), "left": 0}
    monkeypatch.undo()
    for path, content in files.items():  # one byte of any of them, at any place, at the same time of the file
        times = path.stat().st_atime_ns, path.stat().st_mtime_ns
        for at in (len(content) - 5, len(content) // 2):
            path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            os.utime(path, ns=times)
            found = ingest_paths(context, [folder])
            assert found["unchanged"] == len(files) - 1
            assert found.get("changed", 0) + found.get("new", 0) == 1
        path.write_bytes(content)
    assert ingest_paths(context, [folder]) == {"unchanged": len(files), "left": 0}


def test_unstated_rows_are_found_though_another_source_was_forgotten(context: Context, folder: Path) -> None:
    ingest_paths(context, [folder / "s0.jsonl"])
    (event,) = context.lake.events("source.ingested")
    subprocess.run(
        [sys.executable, "-c", CODE, str(context.lake.root), str(folder / "s1.jsonl")],
        env={**os.environ, "CLAWGYM_CRASH_AT": "ingest.before_event"},
        check=False,
    )
    forget(context.lake, event.payload["source_id"], reason="test", actor="tests")
    counts = ingest_paths(context, [folder / "s1.jsonl"])
    assert counts["recovered"] == 1
    assert {e.payload["session_id"] for e in context.lake.events("source.ingested")} == {"s0", "s1"}


def test_a_forgotten_source_among_others_stays_out(context: Context, folder: Path) -> None:
    ingest_paths(context, [folder / "s0.jsonl"])
    (event,) = context.lake.events("source.ingested")
    forget(context.lake, event.payload["source_id"], reason="test", actor="tests")
    path = folder / "s0.jsonl"
    path.write_bytes(path.read_bytes() + b'{"type":"custom"}\n')
    counts = ingest_paths(context, [folder])
    assert (counts["new"], counts["forgotten"]) == (FILES - 1, 1)
    assert context.lake.raw_records().num_rows == 4 * (FILES - 1)


@pytest.mark.parametrize("rows", [1, 5, 9])
def test_what_waits_is_bounded(context: Context, folder: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """With few rows a commit, sources are split and joined at will; what is in is the same."""
    monkeypatch.setattr(loading_module, "BATCH_ROWS", rows)
    monkeypatch.setattr("assets.logs.ingest.BATCH_ROWS", rows)
    before = context.lake.store.version("raw_records")
    assert ingest_paths(context, [folder]) == {"new": FILES, "records": 4 * FILES, "left": 0}
    commits = {1: 4 * FILES, 5: FILES // 2, 9: FILES // 3}[rows]
    assert context.lake.store.version("raw_records") - before == commits
    shutil.copy(folder / "s0.jsonl", folder.parent / "copy.jsonl")
    assert ingest_paths(context, [folder.parent / "copy.jsonl"])["copies"] == 1
    check(context, folder)
