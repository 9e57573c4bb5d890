"""Every kind of file and database a user may have: told by content, taken whole, or left with what it is."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assets.logs import STAGE, ingest_paths
from assets.logs.readers import READERS
from assets.logs.readers.database import DatabaseReader
from assets.logs.readers.documents import DocumentReader
from assets.logs.unread import why_left
from assets.logs.walk import Found
from assets.stage import Context
from assets.trajectories import STAGE as TRAJECTORIES
from lake.errors import SourceError
from tests.logs.test_ingest import a_database
from tests.trajectories.attempts import write_database
from tests.trajectories.documents import atif, chat

TRIAL = {
    "id": "0f2c", "task_name": "hello", "trial_name": "hello__1", "trial_uri": "file:///jobs/1/hello__1",
    "agent_info": {"name": "terminus", "version": "2.0", "model_info": {"name": "some-model"}},
    "verifier_result": {"rewards": {"reward": 0.75}}, "started_at": "2026-02-01T10:00:00Z",
}  # fmt: skip
SESSION = b"".join(
    json.dumps(record).encode() + b"\n"
    for record in (
        {"type": "session", "version": 3, "id": "s"},
        {"type": "message", "id": "a", "message": {"role": "user", "content": "hi"}},
    )
)
CRON = b'{"ts": 1771919474902, "jobId": "j", "action": "finished", "status": "ok"}\n'
COLD = b'{"kind": "header", "version": 1, "sessionId": "s", "generation": "g"}\n{"kind": "index", "row": {}}\n'

FILES: dict[str, tuple[bytes, str]] = {
    "sessions.json": (b'{"agent:main:main": {"sessionId": "x", "updatedAt": 1}}', "openclaw.sessions"),
    "sessions.json.3f2a.tmp": (b'{\n "agent:main:main": {"sessionId": "x"}\n}', "openclaw.sessions"),
    "early.json": (b'{"sessions": [{"id": "x", "name": "main"}]}', "openclaw.sessions"),
    "trajectory.json": (json.dumps(atif(), indent=2).encode(), "atif"),
    "one-line.json": (json.dumps(atif()).encode() + b"\n", "atif"),
    "runs.jsonl": (json.dumps(atif()).encode() + b"\n" + json.dumps(atif("1.2")).encode(), "atif.jsonl"),
    "result.json": (json.dumps(TRIAL, indent=4).encode(), "harbor.trial"),
    "train.jsonl": (json.dumps(chat("a", "b")).encode() + b"\n", "chat.messages"),
    "sample.json": (json.dumps(chat("a", "b"), indent=1).encode(), "chat.messages"),
    "7f3e.jsonl": (CRON, "openclaw.cron"),
    "cold.jsonl": (COLD, "openclaw.cold"),
    "session.jsonl.reset.2026-01-01T00-00-00.000Z": (SESSION, "openclaw.jsonl"),
    "x-topic-4.jsonl.bak-1-2": (SESSION, "openclaw.jsonl"),
    "odd name.log": (SESSION, "openclaw.jsonl"),
}


def kinds(path: Path) -> list[str]:
    return [source.kind for source in Found().sources(path)]


@pytest.mark.parametrize("packed", ["", "gz", "zst"])
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_told_by_its_content_packed_or_not(tmp_path: Path, name: str, packed: str) -> None:
    data, kind = FILES[name]
    packers: dict[str, Callable[[bytes], bytes]] = {
        "": bytes, "gz": gzip.compress, "zst": zstandard.ZstdCompressor().compress,
    }  # fmt: skip
    path = tmp_path / (f"{name}.{packed}" if packed else name)
    path.write_bytes(packers[packed](data))
    (source,) = list(Found().sources(path))
    assert source.kind == kind
    assert b"".join(line.raw + b"\n" * line.terminated for line in source.lines()) == data


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.trajectory-path.json", b'{"traceSchema": "openclaw-trajectory-pointer", "runtimeFile": "/x"}', "pointer"),
        ("openclaw.json", b'{"models": {}}', "configuration"),
        ("openclaw.json.bak", b'{"models": {}}', "configuration"),
        ("sessions.json.telegram-sent-messages.json", b'{"1": {"2": 3}}', "channel"),
        ("config-audit.jsonl", b'{"ts": "2026-01-05T19:34:00Z", "event": "config.write"}', "configuration"),
        ("events.jsonl", b'{"type": "memory.recall.recorded"}', "memory"),
        ("jobs.json", b'{"version": 1, "jobs": []}', "schedule"),
        ("result.json", b'{"id": "1", "n_total_trials": 3, "stats": {}}', "Harbor job"),
        ("config.json", b'{"task": {}}', "Harbor"),
        ("auth-profiles.json", b'{"profiles": {"a": {"key": "secret"}}}', "credentials"),
        ("list.json", b'[{"messages": []}]', "one record on a line"),
        ("SOUL.md", b"# You\n", "text"),
        ("x.jsonl.lock", b'{"pid": 1}', "lock"),
        ("data.bin", b"\x00\x01\x02", "known kind"),
    ],
)
def test_what_is_no_log_is_left_with_what_it_is(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(data)
    found = Found()
    assert not list(found.sources(tmp_path)) and not found.broken
    assert reason in found.left[0].reason


def test_cut_documents_are_taken_not_lost(tmp_path: Path) -> None:
    whole = json.dumps(atif(), indent=2).encode()
    (tmp_path / "trajectory.json").write_bytes(whole[:600])
    (tmp_path / "sessions.json").write_bytes(b'{"agent:main:main": {"sessio')
    assert kinds(tmp_path) == ["openclaw.sessions", "atif"]


def test_a_document_that_grows_is_a_new_version_of_itself(context: Context, tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    document = atif()
    path.write_text(json.dumps({**document, "steps": document["steps"][:3]}, indent=2))
    ingest_paths(context, [path])
    path.write_text(json.dumps(document, indent=2))
    assert ingest_paths(context, [path])["changed"] == 1
    copy = tmp_path / "copy of it.json"
    copy.write_bytes(path.read_bytes())
    assert ingest_paths(context, [copy])["copies"] == 1  # it goes by its own id, not by its place
    built(context)
    assert [row["turns"] for row in context.lake.rows("trajectories")] == [2]
    ledger = {(row["version"], row["disposition"], row["rule"]) for row in context.lake.rows("ledger")}
    assert ledger == {(0, "dropped", "superseded_version"), (1, "kept", "conversation")}


def built(context: Context) -> None:
    """Both stages, with their checks."""
    from assets.rollouts import STAGE as ROLLOUTS

    for stage in (ROLLOUTS, STAGE, TRAJECTORIES):
        context.lake.build(stage.projection)
    for check in (*STAGE.checks, *TRAJECTORIES.checks):
        outcome = check.run(context.lake)
        assert outcome.passed, (check.name, outcome.detail)


def test_a_harbor_job_gives_its_trials_with_their_trajectories(context: Context, tmp_path: Path) -> None:
    """Newer (`agent/trajectory.json`) and older (`trajectory.json`) trial folders."""
    for number, place in enumerate(("agent/trajectory.json", "trajectory.json")):
        trial = tmp_path / "job" / f"hello__{number}"
        path = trial / place
        path.parent.mkdir(parents=True)
        document = atif(session_id=f"run-{number}", trajectory_id=f"t-{number}")
        for step in document["steps"][2:]:
            step["message"] += f" Try {number}."
        path.write_text(json.dumps(document, indent=2))
        result: dict[str, Any] = {**TRIAL, "id": f"0{number}", "trial_name": f"hello__{number}"}
        if number:
            result["verifier_result"] = None
            result["exception_info"] = {"exception_type": "AgentTimeoutError"}
        (trial / "result.json").write_text(json.dumps(result))
        (trial / "config.json").write_text("{}")
    (tmp_path / "job" / "result.json").write_text('{"id": "1", "n_total_trials": 2, "stats": {}}')
    counts = ingest_paths(context, [tmp_path / "job"])
    assert (counts["new"], counts["left"]) == (4, 3)
    built(context)
    trials = context.lake.sql(
        "select trial_name, task_name, stated_reward, exception_type, t.session_id, t.turns"
        " from harbor_trials h join trajectories t using (trajectory_id) order by 1"
    ).fetchall()
    assert trials == [
        ("hello__0", "hello", 0.75, None, "run-0", 2),
        ("hello__1", "hello", None, "AgentTimeoutError", "run-1", 2),
    ]
    assert context.lake.rows("verdicts") == []  # what a trial states is no verdict of ours


@pytest.mark.parametrize("in_a_line", [False, True])
def test_published_conversations_are_trajectories_like_any_other(
    context: Context, tmp_path: Path, in_a_line: bool
) -> None:
    """The beginning of the set is taken in first, cut behind a line or in the middle of one."""
    rows = [chat(f"Question {number}", f"Answer {number}") for number in range(30)]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    (tmp_path / "train.jsonl").write_bytes(data)
    (tmp_path / "shard.jsonl.gz").write_bytes(gzip.compress(data[: data.index(b"\n", 900) + (-20 if in_a_line else 1)]))
    counts = ingest_paths(context, [tmp_path])
    assert counts["records"] == 30 + in_a_line and counts["grown"] == 1
    built(context)
    trajectories = context.lake.rows("trajectories")
    assert Counter(row["class"] for row in trajectories) == {"normal": 30}
    assert {(row["turns"], row["tool_calls"]) for row in trajectories} == {(2, 1)}
    assert len({row["session_id"] for row in trajectories}) == 30
    if not in_a_line:
        raw = {row["record_key"]: row["raw"] for row in context.lake.raw_records().to_pylist()}
        assert all(json.loads(raw[step["record_key"]]) in rows for step in context.lake.rows("steps"))


# --- databases ----------------------------------------------------------------------------------------------------


def sources_of(path: Path) -> list[Any]:
    with path.open("rb") as file:
        return DatabaseReader().sources(path, file.read(64)) or []


def test_tables_beside_the_transcripts_are_sources_too(tmp_path: Path) -> None:
    path = a_database(tmp_path / "agents/main/agent/openclaw-agent.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma ignore_check_constraints = on")
        connection.execute("pragma foreign_keys = off")
        cold = zstandard.ZstdCompressor().compress(COLD)
        connection.execute(
            "insert into session_transcript_cold_archives values"
            " ('s', 'g', 'a.jsonl.zst', ?, 1, 1, ?, 1, 0, 'sqlite', ?)",
            ["0" * 64, len(cold), cold],
        )
        for name, blob in (("b", zstandard.ZstdCompressor().compress(SESSION)), ("c", b"\x28\xb5\x2f\xfd broken")):
            connection.execute(
                "insert into session_transcript_archives (session_id, generation, session_key, reason, encoding,"
                " archive_blob, archive_sha256, archive_name, created_at)"
                " values (?, 'g', 'k', 'reset', 'zstd', ?, ?, ?, 0)",
                [name, blob, "0" * 64, name],
            )
        connection.commit()
    found = {(source.kind, source.session_id): list(source.lines()) for source in sources_of(path)}
    assert b"\n".join(line.raw for line in found["openclaw.cold", "s"]) + b"\n" == COLD
    assert len(found["openclaw.jsonl", "b"]) == 2
    assert found["openclaw.jsonl", "c"][0].raw == b"\x28\xb5\x2f\xfd broken"  # kept as it lies, quarantined later
    assert Counter(kind for kind, _ in found)["openclaw.transcript"] == 2
    assert len([s for s in sources_of(path) if s.path.endswith("#session_nodes")]) == 2


def test_the_state_database_gives_sub_agents_and_cron_runs(context: Context, tmp_path: Path) -> None:
    path = tmp_path / "state" / "openclaw.sqlite"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "create table subagent_runs (run_id text primary key, child_session_key text, requester_session_key text,"
            " created_at integer, payload_json text);"
            "create table cron_run_logs (store_key text, job_id text, seq integer, ts integer, entry_json text);"
            "insert into subagent_runs values ('r', 'agent:main:subagent:1', 'agent:main:main', 1, '{}');"
        )
        lines = CRON.decode().splitlines() * 2
        connection.executemany(
            "insert into cron_run_logs values ('', 'j', ?, 1, ?)", [(number, line) for number, line in enumerate(lines)]
        )
        connection.commit()
    file = tmp_path / "cron" / "runs" / "j.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(CRON)
    assert Counter(kinds(tmp_path / "state") + kinds(tmp_path / "cron")) == {"openclaw.table": 1, "openclaw.cron": 2}
    assert ingest_paths(context, [path])["records"] == 3
    assert ingest_paths(context, [file])["copies"] == 1  # the file is the beginning of what the table goes on with


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_writer_in_the_middle_of_a_large_transaction_is_not_waited_for(tmp_path: Path, mode: str) -> None:
    """Pages of it lie in the file or its log already; none of its rows may be seen, and it must be able to commit."""
    path = a_database(tmp_path / "openclaw-agent.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute(f"pragma journal_mode = {mode}")
        writer.execute("pragma cache_size = 5")  # spills what is not committed
        writer.execute("pragma ignore_check_constraints = on")
        writer.execute("begin immediate")
        session = "248b49a3-ebf8-432d-8995-a856a2036fc3"
        text = json.dumps({"type": "custom", "data": "x" * 5_000})
        for number in range(200):
            writer.execute(
                "insert into transcript_events values (?, ?, ?, 0, null, null, null)", [session, 1_000 + number, text]
            )
        beside = path.with_name(path.name + ("-wal" if mode == "wal" else "-journal"))
        assert beside.stat().st_size > 0
        (source,) = [s for s in sources_of(path) if s.kind == "openclaw.transcript" and s.session_id == session]
        assert len(list(source.lines())) == 53
        writer.execute("commit")
    (source,) = [s for s in sources_of(path) if s.kind == "openclaw.transcript" and s.session_id == session]
    assert len(list(source.lines())) == 253


def test_a_writer_that_never_stops_is_read_all_the_same(tmp_path: Path) -> None:
    import threading

    path = tmp_path / "openclaw-agent.sqlite"
    write_database(path, [b'{"type":"session","id":"s"}'], [], "s")
    stop = threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("pragma wal_autocheckpoint = 0")
            number = 1
            while not stop.is_set():
                connection.execute("insert into transcript_events values ('s', ?, '{}', 0, null, null, null)", [number])
                number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            (source,) = [source for source in sources_of(path) if source.kind == "openclaw.transcript"]
            lines = list(source.lines())
            assert [line.position for line in lines] == list(range(len(lines)))
    finally:
        stop.set()
        writer.join()


def test_a_database_that_breaks_off_is_an_error_and_the_rest_is_in(context: Context, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(SESSION)
    path = a_database(tmp_path / "b" / "openclaw-agent.sqlite")
    data = bytearray(path.read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        page = connection.execute("pragma page_size").fetchone()[0]
        root = connection.execute("select rootpage from sqlite_master where name = 'transcript_events'").fetchone()[0]
    data[(root - 1) * page : root * page] = b"\xff" * page
    path.write_bytes(data)
    (tmp_path / "z.jsonl").write_bytes(SESSION.replace(b'"s"', b'"z"'))
    with pytest.raises(SourceError, match=r"b/openclaw-agent\.sqlite.*malformed"):
        ingest_paths(context, [tmp_path])
    files = context.lake.raw_records("source_kind = 'openclaw.jsonl'").to_pylist()
    assert {row["session_id"] for row in files} == {"s", "z"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is no SQLite file"),
        (b"not a database at all", "is no SQLite file"),
        (b"SQLite format 3\x00" + b"\x00" * 200, "cannot be read"),
        (None, "has no table transcript_events"),
    ],
)
def test_a_state_folder_whose_database_cannot_be_read_is_no_empty_success(
    context: Context, tmp_path: Path, data: bytes | None, message: str
) -> None:
    path = tmp_path / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    if data is None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("create table other (a)")
    else:
        path.write_bytes(data)
    with pytest.raises(SourceError, match=message):
        ingest_paths(context, [tmp_path])


# --- anything -----------------------------------------------------------------------------------------------------

_POOL = [data for data, _ in FILES.values()]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(_POOL),
    st.integers(0, 4_000),
    st.binary(max_size=8),
    st.integers(0, 200),
    st.sampled_from(["x.json", "x.jsonl", "sessions.json"]),
)
def test_no_file_makes_a_reader_raise_or_lose_a_byte(
    tmp_path: Path, data: bytes, at: int, put: bytes, cut: int, name: str
) -> None:
    at %= len(data) + 1
    data = data[:at] + put + data[at + cut :]
    path = tmp_path / name
    path.write_bytes(data)
    for reader in READERS:
        for source in reader.sources(path, data[: 64 * 1024]) or []:
            assert b"".join(line.raw + b"\n" * line.terminated for line in source.lines()) == data
    assert why_left(path, data)


def test_line_files_cost_the_document_reader_one_line(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    path.write_bytes((json.dumps({"jobId": "j"}) + "\n").encode() * 10_000)
    head = path.read_bytes()[:65_536]
    path.unlink()  # it may not be opened again
    assert DocumentReader().sources(path, head) is None
