"""Ingest: identity, versions, growth, copies, and what is left."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lake
from assets.logs import STAGE, ingest_paths
from assets.logs.catalogue import Catalogue, stream_of
from assets.profile import Profile
from assets.stage import Context
from lake.errors import SourceError

FIXTURES = Path(__file__).parent.parent / "fixtures" / "openclaw"
BASELINE = FIXTURES / "handmade" / "baseline.jsonl"


def sources(context: Context) -> list[dict[str, Any]]:
    context.lake.build(STAGE.projection)
    for check in STAGE.checks:
        outcome = check.run(context.lake)
        assert outcome.passed, (check.name, outcome.detail)
    return context.lake.rows("sources")


def back(context: Context, row: dict[str, Any]) -> bytes:
    """The bytes of a source version as the lake gives them."""
    pieces = list(stream_of(context.lake, row["source_id"], row["version"], row["source_kind"]))
    return b"".join(raw + b"\n" * newline for raw, newline in pieces) + b"\n" * (not row["open_tail"])


def test_a_file_is_in_once_and_whole(context: Context, tmp_path: Path) -> None:
    path = shutil.copy(BASELINE, tmp_path / "a.jsonl")
    assert ingest_paths(context, [path])["records"] == 7
    assert ingest_paths(context, [path]) == {"unchanged": 1, "left": 0}
    (row,) = sources(context)
    assert (row["records"], row["bytes"], row["version"], row["session_id"]) == (
        7, BASELINE.stat().st_size, 0, "00000000-0000-4000-8000-000000000001",
    )  # fmt: skip
    assert back(context, row) == BASELINE.read_bytes()


def test_copies_and_prefixes_add_no_rows(context: Context, tmp_path: Path) -> None:
    whole = BASELINE.read_bytes()
    lines = whole.split(b"\n")
    (tmp_path / "a.jsonl").write_bytes(whole)
    (tmp_path / "b.jsonl.deleted.1772400000").write_bytes(whole)
    (tmp_path / "c.checkpoint.x.jsonl").write_bytes(b"\n".join(lines[:4]) + b"\n")
    (tmp_path / "d.jsonl").write_bytes(b"\n".join(lines[:4])[:-20])
    counts = ingest_paths(context, [tmp_path / name for name in ("a.jsonl", "b.jsonl.deleted.1772400000")])
    counts = ingest_paths(context, [tmp_path / "c.checkpoint.x.jsonl", tmp_path / "d.jsonl"])
    assert counts["copies"] == 2 and "records" not in counts
    (row,) = sources(context)
    assert row["records"] == 7 and len(row["seen_paths"]) == 4
    assert ingest_paths(context, [tmp_path / "d.jsonl"])["unchanged"] == 1


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_growth_appends_only_what_is_new_wherever_the_write_was_cut(
    context: Context, tmp_path: Path, suffix: str
) -> None:
    """`growing.jsonl` of the fixtures: line by line, with writes cut in the middle."""
    whole = BASELINE.read_bytes()
    path = tmp_path / f"growing.jsonl{suffix}"
    ends = [whole.index(b"\n", 100) + 1, 500, 501, whole.index(b"\n", 501), whole.index(b"\n", 501) + 1, len(whole)]
    for end in ends:
        path.write_bytes(gzip.compress(whole[:end]) if suffix else whole[:end])
        ingest_paths(context, [path])
    (row,) = sources(context)
    assert row["version"] == 0 and not row["open_tail"]
    assert back(context, row) == whole
    positions = context.lake.raw_records()["position"].to_pylist()
    assert 500 in positions and len(positions) == len(set(positions)) == row["records"]


def test_changed_bytes_make_a_new_version_and_keep_the_old(context: Context, tmp_path: Path) -> None:
    path = Path(shutil.copy(BASELINE, tmp_path / "a.jsonl"))
    ingest_paths(context, [path])
    changed = BASELINE.read_bytes().replace(b"list the files", b"LIST the files")
    path.write_bytes(changed)
    assert ingest_paths(context, [path])["changed"] == 1
    path.write_bytes(changed + b'{"type":"custom"}\n')
    assert ingest_paths(context, [path])["grown"] == 1
    rows = sources(context)
    assert [(row["version"], row["records"], row["is_latest"], row["ingests"]) for row in rows] == [
        (0, 7, False, 1),
        (1, 8, True, 2),
    ]
    assert back(context, rows[0]) == BASELINE.read_bytes() and back(context, rows[1])[: len(changed)] == changed


def test_two_ingests_at_once_take_a_file_once(context: Context, tmp_path: Path) -> None:
    paths = [shutil.copy(FIXTURES / "handmade" / name, tmp_path / name) for name in ("baseline.jsonl", "crlf.jsonl")]
    barrier = threading.Barrier(4)
    failed: list[BaseException] = []

    def work() -> None:
        own = Context(lake.open(context.lake.root), Profile())
        barrier.wait()
        try:
            ingest_paths(own, paths)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert [row["records"] for row in sources(context)] == [7, 7]
    assert context.lake.raw_records().num_rows == 14


@pytest.mark.parametrize("point", ["ingest.after_batch", "ingest.before_event", "commit.after_write"])
def test_a_kill_anywhere_loses_nothing_and_doubles_nothing(context: Context, tmp_path: Path, point: str) -> None:
    path = Path(shutil.copy(BASELINE, tmp_path / "a.jsonl"))
    code = (
        "import lake; from assets.logs import ingest_paths; from assets.profile import Profile;"
        "from assets.stage import Context; import sys;"
        "ingest_paths(Context(lake.open(sys.argv[1]), Profile()), sys.argv[2:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(context.lake.root), str(path)],
        env={**os.environ, "CLAWGYM_CRASH_AT": point},
        check=False,
    )
    assert done.returncode == -9
    with path.open("ab") as file:  # it even grew in the meantime
        file.write(b'{"type":"custom"}\n')
    ingest_paths(context, [path])
    ingest_paths(context, [path])
    (row,) = sources(context)
    assert row["records"] == 8 == context.lake.raw_records().num_rows
    assert back(context, row) == path.read_bytes()


def test_a_large_line_is_kept_whole_outside_the_table(context: Context, tmp_path: Path) -> None:
    line = b'{"type":"custom","data":"' + b"x" * (17 * 1024 * 1024) + b'"}'
    path = tmp_path / "a.jsonl"
    path.write_bytes(BASELINE.read_bytes() + line + b"\n")
    ingest_paths(context, [path])
    (row,) = sources(context)
    last = context.lake.raw_records("parse_status = 'oversized'").to_pylist()
    assert [(r["raw"], r["raw_size"]) for r in last] == [(None, len(line))]
    assert back(context, row) == path.read_bytes()


def test_archives_and_compressed_files_are_told_by_content(context: Context) -> None:
    handmade = FIXTURES / "handmade"
    names = ["compressed.jsonl.gz", "compressed.jsonl.zst", "compressed_multi_member.jsonl.gz", "gz_named_jsonl.jsonl"]
    ingest_paths(context, [handmade / name for name in names])
    assert {row["records"] for row in sources(context)} == {7}


def test_a_walk_ends_and_says_what_it_left(context: Context, tmp_path: Path) -> None:
    """`symlink_loop`, `fifo`, directories named like logs, pointers and indexes."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "a.jsonl").symlink_to("b.jsonl")
    (home / "b.jsonl").symlink_to("a.jsonl")
    (home / "loop").symlink_to(".")
    os.mkfifo(home / "fifo.jsonl")
    (home / "dir.jsonl").mkdir()
    (home / "empty.jsonl").touch()
    (home / "sessions.json").write_text('{"agent:main:main": {"sessionId": "x"}}')
    (home / "x.trajectory-path.json").write_text('{"traceSchema": "openclaw-trajectory-pointer", "runtimeFile": "y"}')
    shutil.copy(BASELINE, home / "with space and ünïcode.jsonl")
    (home / "link.jsonl").symlink_to("with space and ünïcode.jsonl")
    said: list[str] = []
    spoken = Context(context.lake, Profile(), progress=lambda message, *_: said.append(message))
    counts = ingest_paths(spoken, [home])
    assert counts["records"] == 8 and counts["copies"] == 1
    left = {Path(line.split(": ")[0]).name: line.split(": ", 1)[1] for line in said if line.startswith("left /")}
    assert left.keys() == {"a.jsonl", "b.jsonl", "loop", "fifo.jsonl", "empty.jsonl", "x.trajectory-path.json"}
    assert left["x.trajectory-path.json"] == "pointer to a trajectory file: y; give that file too"
    assert "openclaw.sessions: 1 sources, 1 new records" in said and "left 1: empty" in said
    assert left["fifo.jsonl"] == "not a regular file, not opened"


def test_names_that_are_no_utf_8_are_stated_as_manifests_state_them(context: Context, tmp_path: Path) -> None:
    """A byte that is no UTF-8 is an escape in every table, and loses neither that file nor the others."""
    home = os.fsencode(tmp_path / "home")
    os.mkdir(home)  # noqa: PTH102
    data = BASELINE.read_bytes()
    no_session = b"".join(data.splitlines(keepends=True)[1:])
    for name, content in (
        (b"a\xff.jsonl", no_session),
        (b"b.jsonl", data),
        (b"c\xfe", b"?"),
        (b"d\xc3\xa9\\.jsonl", data),
    ):
        with open(os.path.join(home, name), "wb") as file:  # noqa: PTH118, PTH123
            file.write(content)
    os.mkdir(os.path.join(home, b"e\xff"))  # noqa: PTH102, PTH118
    a_database(Path(os.fsdecode(os.path.join(home, b"e\xff", b"openclaw-agent.sqlite"))))  # noqa: PTH118
    said: list[str] = []
    spoken = Context(context.lake, Profile(), progress=lambda message, *_: said.append(message))
    counts = ingest_paths(spoken, [Path(os.fsdecode(home))])
    assert counts["copies"] == 1 and counts["left"] == 1
    paths = {row[0] for row in context.lake.sql("select distinct source_path from raw_records").fetchall()}
    root = f"{tmp_path}/home"
    assert {f"{root}/a\\xff.jsonl", f"{root}/b.jsonl", f"{root}/e\\xff/openclaw-agent.sqlite"} <= paths
    (seen,) = context.lake.events("source.seen")
    assert seen.payload["path"] == f"{root}/dé\\\\.jsonl"
    assert f"left {root}/c\\xfe: not a log of a known kind" in said
    assert "".join(said).isprintable()
    again = ingest_paths(context, [Path(os.fsdecode(home))])
    assert again.get("new", 0) == again.get("changed", 0) == again.get("copies", 0) == 0 and again["unchanged"]


def test_a_name_cannot_steer_the_terminal(context: Context, tmp_path: Path) -> None:
    """Tables keep the name as it is; what is said about it stays on its line."""
    home = tmp_path / "home"
    home.mkdir()
    log = home / "a\n\x1b[2Jleft 3: nothing.jsonl"
    shutil.copy(BASELINE, log)
    (home / "b\x1b]0;x\x07\u202e").write_bytes(b"?")
    said: list[str] = []
    spoken = Context(context.lake, Profile(), progress=lambda message, *_: said.append(message))
    ingest_paths(spoken, [home])
    assert all(line.isprintable() for line in said)
    assert f"left {home}/b\\x1b]0;x\\x07\\u202e: not a log of a known kind" in said
    assert any("a\\n\\x1b[2Jleft" in line for line in said)
    assert context.lake.sql("select distinct source_path from raw_records").fetchall() == [(str(log),)]
    with pytest.raises(SourceError) as raised:
        ingest_paths(context, [home / "\x1bnot there"])
    assert str(raised.value).isprintable()


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_only_beside_a_database_is_a_file_part_of_it(context: Context, tmp_path: Path, suffix: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "x.jsonl").write_bytes(b"")
    shutil.copy(BASELINE, home / f"x.jsonl{suffix}")
    shutil.copy(BASELINE, home / suffix)
    a_database(home / "openclaw-agent.sqlite")
    (home / f"openclaw-agent.sqlite{suffix}").write_bytes(b"")
    from assets.logs.walk import Found

    found = Found()
    taken = {Path(source.path).name for source in found.sources(home) if source.kind == "openclaw.jsonl"}
    assert {f"x.jsonl{suffix}", suffix} <= taken
    assert [Path(left.path).name for left in found.left] == ["x.jsonl"]


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder of another user, and this process running as that user."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_file_without_permission_is_left_with_the_reason(context: Context, unprivileged: Path) -> None:
    """`unreadable.jsonl`."""
    path = Path(shutil.copy(BASELINE, unprivileged / "unreadable.jsonl"))
    path.chmod(0)
    from assets.logs.walk import Found

    os.seteuid(65534)
    try:
        found = Found()
        assert list(found.sources(unprivileged)) == []
    finally:
        os.seteuid(0)
    assert [left.reason for left in found.left] == ["cannot be opened: Permission denied"]


def test_a_path_that_is_not_there_is_an_error(context: Context, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        ingest_paths(context, [tmp_path / "nothing"])


# --- databases ------------------------------------------------------------------------------------------------


def a_database(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.decompress((FIXTURES / "agent.sqlite.gz").read_bytes()))
    return path


def test_a_live_database_is_read_with_its_log_and_not_touched(context: Context, tmp_path: Path) -> None:
    path = a_database(tmp_path / "agents/main/agent/openclaw-agent.sqlite")
    writer = sqlite3.connect(path)
    writer.execute("pragma journal_mode = wal")
    session = "248b49a3-ebf8-432d-8995-a856a2036fc3"
    writer.execute("pragma ignore_check_constraints = on")
    add = "insert into transcript_events (session_id, seq, event_json, created_at) values (?, ?, ?, 0)"
    writer.execute(add, [session, 1_000, '{"type":"custom"}'])
    writer.commit()
    writer.execute("begin immediate")
    writer.execute(add, [session, 1_001, '{"type":"label"}'])
    before = sorted((p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in path.parent.iterdir())
    ingest_paths(context, [tmp_path / "agents"])
    assert sorted((p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in path.parent.iterdir()) == before
    writer.commit()  # was not locked out
    rows = {row["session_id"]: row for row in sources(context) if row["source_kind"] == "openclaw.transcript"}
    assert rows[session]["records"] == 54
    assert ingest_paths(context, [tmp_path / "agents"])["grown"] == 1
    writer.execute("delete from transcript_events where session_id = ? and seq < 10", [session])
    writer.commit()
    assert ingest_paths(context, [tmp_path / "agents"])["new"] == 1  # its first record is another: another source
    assert sum(row["records"] for row in sources(context) if row["session_id"] == session) > 100
    writer.close()


def test_stored_bytes_of_compressed_rows_are_kept(context: Context, tmp_path: Path) -> None:
    ingest_paths(context, [a_database(tmp_path / "openclaw-agent.sqlite")])
    packed = context.lake.raw_records("encoding = 'zstd'").to_pylist()
    assert len(packed) == 9 and all(row["stored"][:4] == b"\x28\xb5\x2f\xfd" for row in packed)
    assert all(row["parse_status"] == "ok" for row in packed)


def test_a_damaged_row_is_kept_and_marked(context: Context, tmp_path: Path) -> None:
    path = a_database(tmp_path / "openclaw-agent.sqlite")
    with sqlite3.connect(path) as writer:
        writer.execute("pragma ignore_check_constraints = on")
        writer.execute(
            "update transcript_events set event_zstd = x'28b52ffd00' where event_zstd is not null and seq < 40"
        )
    writer.close()
    ingest_paths(context, [path])
    bad = context.lake.raw_records("parse_status = 'bad_zstd'").to_pylist()
    assert bad and all(row["raw"] == row["stored"] == b"\x28\xb5\x2f\xfd\x00" for row in bad)


@pytest.mark.parametrize("content", [b"", b"not a database at all", b"SQLite format 3\x00" + b"\x00" * 200])
def test_an_unreadable_database_is_an_error_and_the_rest_is_taken(
    context: Context, tmp_path: Path, content: bytes
) -> None:
    state = tmp_path / "agents/main/agent"
    state.mkdir(parents=True)
    (state / "openclaw-agent.sqlite").write_bytes(content)
    shutil.copy(BASELINE, tmp_path / "z.jsonl")
    with pytest.raises(SourceError, match=r"openclaw-agent\.sqlite"):
        ingest_paths(context, [tmp_path / "agents", tmp_path / "z.jsonl"])
    assert [row["records"] for row in sources(context)] == [7]


def test_the_catalogue_is_what_the_events_say(context: Context, tmp_path: Path) -> None:
    ingest_paths(context, [shutil.copy(BASELINE, tmp_path / "a.jsonl")])
    (known,) = [v for versions in Catalogue.read(context.lake).versions.values() for v in versions]
    assert (known.records, known.bytes, known.events) == (7, BASELINE.stat().st_size, 1)
