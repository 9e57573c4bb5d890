"""Cases in which no file is complete: lost beginnings, bounded windows, databases beside nothing (C05, C07)."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from datetime import datetime
from pathlib import Path

from benchmarks.conformance.case import Expected, case, lines_file
from benchmarks.conformance.session import Session


@case("C05", "first messages missing, no other file")
def lost_head(s: Session) -> Expected:
    """The first entry's parent is nowhere: said, and never shown as complete."""
    for number in range(3):
        s.user(f"ask {number}")
        s.assistant(f"answer {number}")
    return Expected(
        files=lines_file(s, [s.lines()[0], *s.lines()[3:]]),
        views=[["user: ask 1", "say: answer 1", "user: ask 2", "say: answer 2"]],
        classes=["incomplete"],
        stated=[(2, "head_gap")],
        ledger={"kept:header": 1, "kept:step": 4},
        tell=[2],
    )


@case("C05", "neither file complete")
def neither_complete(s: Session) -> Expected:
    """The transcript lacks its first messages, the bounded trajectory the last: both are used once, the gap is said."""
    for number in range(3):
        s.user(f"ask {number}")
        s.assistant(f"answer {number}")
    for record in s.records[1:]:
        record["message"]["timestamp"] = 1000 * int(datetime.fromisoformat(record["timestamp"]).timestamp())
    envelope = {"traceSchema": "openclaw-trajectory", "schemaVersion": 1, "sessionId": s.session_id, "runId": "r"}
    snapshot = [record["message"] for record in s.records[1:5]]
    times = [record["timestamp"] for record in s.records]
    events = [
        {**envelope, "type": "prompt.submitted", "seq": 1, "ts": times[1], "data": {"prompt": "ask 0"}},
        {**envelope, "type": "model.completed", "seq": 2, "ts": times[4], "data": {"messagesSnapshot": snapshot}},
    ]
    files = lines_file(s, [s.lines()[0], *s.lines()[3:]])
    files[f"{s.session_id}.trajectory.jsonl"] = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    rest = ["user: ask 1", "say: answer 1", "user: ask 2", "say: answer 2"]
    return Expected(
        files=files,
        views=[["user: ask 0", "say: answer 0", *rest]],
        messages=[["user: ask 0", "context say: answer 0", *rest]],
        classes=["incomplete"],
        stated=[(2, "head_gap"), (2, "head_gap"), (2, "recovered_head")],
        ledger={"kept:header": 1, "kept:step": 4},
        tell=[2],
    )


@case("C07", "SQLite instead of JSONL")
def database_only(s: Session) -> Expected:
    """The transcript stands in the agent's database and nowhere else."""
    s.user("go")
    s.assistant("one")
    s.user("more")
    s.assistant("two")
    return Expected(
        files={"agents/main/agent/openclaw-agent.sqlite": _database(s)},
        views=[["user: go", "say: one", "user: more", "say: two"]],
        ledger={"kept:header": 1, "kept:step": 4},
    )


def _database(session: Session) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "openclaw-agent.sqlite"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(
                "create table transcript_events (session_id text, seq integer, event_json text, created_at integer,"
                " event_zstd blob, event_utf8_bytes integer, navigation_json text, primary key (session_id, seq));"
                "create table session_windows (session_id text primary key, session_key text, status text);"
            )
            connection.executemany(
                "insert into transcript_events values (?, ?, ?, 0, null, null, null)",
                [(session.session_id, number, line.decode()) for number, line in enumerate(session.lines())],
            )
            connection.commit()
        return path.read_bytes()
