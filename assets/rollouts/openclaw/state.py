"""What OpenClaw's state folder says about a finished run: its session and how that ended.

Belongs here: the few facts the ending is read from. Does not belong here: the transcript (stage `logs` ingests it).
The database is copied before it is opened: the original is evidence and opening it would fold its journal in.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import zstandard

from lake.ids import Json

DATABASE = "agents/main/agent/openclaw-agent.sqlite"
"""The agent's database, below the state folder."""
_LARGEST_EVENT = 64 * 1024 * 1024


@dataclass(frozen=True)
class Session:
    """The last session of a state folder."""

    session_id: str | None
    stop_reason: str | None = None
    """Of the last assistant message: stop | toolUse | length | error | aborted."""
    final_text: str = ""
    """Text of the last assistant message."""
    ended: Json = None
    """Data of the flight recorder's `session.ended`; null when the run did not get there."""


def read_session(state: Path) -> Session | None:
    """The session of a run; null when there is no readable one, as after a crash at the start."""
    database = state / DATABASE
    if not database.is_file():
        return None
    with tempfile.TemporaryDirectory(prefix="clawgym-state-") as folder:
        for suffix in ("", "-wal", "-shm"):
            source = database.with_name(database.name + suffix)
            if source.is_file():
                shutil.copyfile(source, Path(folder, database.name + suffix))
        try:
            with closing(sqlite3.connect(Path(folder, database.name))) as connection:
                return _read(connection)
        except (sqlite3.Error, ValueError, zstandard.ZstdError):
            return None


def _read(connection: sqlite3.Connection) -> Session | None:
    row = connection.execute("select session_id from transcript_events order by created_at, seq limit 1").fetchone()
    if row is None:
        return None
    stop_reason, text = None, ""
    for event in _transcript(connection, str(row[0])):
        message = event.get("message") if event.get("type") == "message" else None
        if isinstance(message, dict) and message.get("role") == "assistant":
            stop_reason = message.get("stopReason")
            blocks = message.get("content") or ()
            text = "".join(str(b.get("text", "")) for b in blocks if isinstance(b, dict) and b.get("type") == "text")
    ended = None
    for (line,) in connection.execute(
        "select event_json from trajectory_runtime_events where session_id = ? order by seq", [row[0]]
    ):
        record = json.loads(line)
        if record.get("type") == "session.ended":
            ended = record.get("data")
    return Session(str(row[0]), stop_reason, text, ended)


def _transcript(connection: sqlite3.Connection, session_id: str) -> Iterator[dict[str, Json]]:
    rows = connection.execute(
        "select event_json, event_zstd from transcript_events where session_id = ? order by seq", [session_id]
    )
    for text, packed in rows:
        if text is None:
            text = zstandard.ZstdDecompressor().decompress(packed, max_output_size=_LARGEST_EVENT).decode("utf-8")
        yield json.loads(text)
