"""Rows of OpenClaw's databases that are sources of their own: archives, sessions and their keys, sub-agents, cron runs.

Belongs here: what each table holds and what identifies a row over all databases there are. Does not belong here:
opening a database, and the tables of transcripts and trajectories (`database`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

import zstandard

from assets.logs.reader import Source, text_of
from assets.logs.readers.jsonl import COLD, CRON
from assets.logs.readers.streams import BytesSource
from lake.ids import Json

TABLE: Final = "openclaw.table"

MAX_ARCHIVE: Final = 1024 * 1024 * 1024
"""Decompressed archives above are stored as they lie in their row, undecoded. Bytes."""

STATE_TABLES: Final = frozenset({"subagent_runs", "task_runs", "cron_run_logs"})
"""Tables of the state database that are logs (`task_runs`: scheduled runs of 2026.9, too); it has no transcripts."""


def table_sources(path: Path, connection: sqlite3.Connection, tables: set[str]) -> Iterator[Source]:
    """Sources in the tables that are there, in a fixed order."""
    if "session_transcript_archives" in tables:
        yield from _archives(path, connection)
    if "session_transcript_cold_archives" in tables:
        yield from _cold_archives(path, connection)
    if "session_windows" in tables:
        for row in _rows(connection, "session_windows", "session_id"):
            session = str(row["session_id"])
            yield _source(path, "session_windows", row, session, f"session_windows/{session}")
    owner = _owner(connection) if "schema_meta" in tables else ""
    if "session_nodes" in tables:
        for row in _rows(connection, "session_nodes", "session_key"):
            identity = f"session_nodes/{owner}/{row['session_key']}"
            yield _source(path, "session_nodes", row, str(row["current_session_id"]), identity)
    for table, key in (("subagent_runs", "run_id"), ("task_runs", "task_id")):
        if table in tables:
            for row in _rows(connection, table, key):
                yield _source(path, table, row, None, f"{table}/{row[key]}")
    if "cron_run_logs" in tables:
        yield from _cron(path, connection)


def _source(path: Path, table: str, row: dict[str, Json], session: str | None, identity: str) -> Source:
    data = json.dumps(row, ensure_ascii=False, sort_keys=True, default=bytes.hex).encode("utf-8", "replace")
    return BytesSource(TABLE, f"{text_of(path)}#{table}", session, identity, data)


def _rows(connection: sqlite3.Connection, table: str, order: str) -> Iterator[dict[str, Json]]:
    cursor = connection.execute(f"select * from {table} order by {order}")  # noqa: S608 - constants of this module
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row, strict=True))


def _owner(connection: sqlite3.Connection) -> str:
    """What tells one agent's database from all others: keys such as `agent:main:main` are in each of them."""
    names = {row[1] for row in connection.execute("pragma table_info(schema_meta)")}
    if not {"agent_id", "created_at"} <= names:
        return ""
    row = connection.execute("select agent_id, created_at from schema_meta order by 1, 2 limit 1").fetchone()
    return "" if row is None else f"{row[0]}@{row[1]}"


def _archives(path: Path, connection: sqlite3.Connection) -> Iterator[Source]:
    """Transcripts that were deleted or reset and are kept whole in a row."""
    query = "select session_id, encoding, archive_blob, archive_name from session_transcript_archives order by 1, 4"
    for session, encoding, blob, name in connection.execute(query):
        data = _unpacked(bytes(blob)) if encoding == "zstd" else bytes(blob)
        yield BytesSource("openclaw.jsonl", f"{text_of(path)}#{name}", session, session, data)


def _cold_archives(path: Path, connection: sqlite3.Connection) -> Iterator[Source]:
    """Transcripts moved out of their table; those moved into files are found as files (`cold/*.jsonl.zst`)."""
    query = (
        "select session_id, generation, archive_blob, archive_name from session_transcript_cold_archives"
        " where archive_blob is not null order by 1"
    )
    for session, generation, blob, name in connection.execute(query):
        yield BytesSource(COLD, f"{text_of(path)}#{name}", session, f"{session}/{generation}", _unpacked(bytes(blob)))


def _unpacked(blob: bytes) -> bytes:
    """What a compressed archive holds as far as it can be read; an unreadable one stays as it is."""
    engine = zstandard.ZstdDecompressor().decompressobj()
    parts: list[bytes] = []
    size = 0
    try:
        for start in range(0, len(blob), 1 << 16):
            parts.append(engine.decompress(blob[start : start + (1 << 16)]))
            size += len(parts[-1])
            if size > MAX_ARCHIVE:
                return blob
    except zstandard.ZstdError:
        pass  # what was read so far is kept; the rest is nowhere
    return b"".join(parts) or blob


def _cron(path: Path, connection: sqlite3.Connection) -> Iterator[Source]:
    """Runs of scheduled jobs, as the lines of `cron/runs/<job>.jsonl` that this table replaced."""
    rows = _rows(connection, "cron_run_logs", "store_key, job_id, seq")
    for (_, job), of_job in groupby(rows, key=lambda row: (row["store_key"], row["job_id"])):
        lines = [
            row["entry_json"].encode("utf-8", "replace")
            if isinstance(row.get("entry_json"), str)
            else json.dumps(row, ensure_ascii=False, sort_keys=True, default=bytes.hex).encode("utf-8", "replace")
            for row in of_job
        ]
        yield BytesSource(CRON, f"{text_of(path)}#cron_run_logs", None, str(job), b"\n".join(lines) + b"\n")
