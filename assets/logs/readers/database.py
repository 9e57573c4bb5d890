"""OpenClaw's agent database (`openclaw-agent.sqlite`, 2026.8 and later): transcripts, trajectories, archives, sessions.

The file and its write-ahead log are copied and the copy is opened, so a live database is neither locked nor touched.
A database that is there and cannot be read is an error, never an empty success.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import zstandard

from assets.logs.reader import Line, Source
from assets.logs.readers.streams import BytesSource
from lake.errors import SourceError

DATABASE_NAME: Final = "openclaw-agent.sqlite"
_MAGIC: Final = b"SQLite format 3\x00"
_TRIES: Final = 20
_MAX_EVENT: Final = 64 * 1024 * 1024


class DatabaseReader:
    """See the module."""

    name = "database"

    def sources(self, path: Path, head: bytes) -> list[Source] | None:
        """See `Reader.sources`."""
        if not head.startswith(_MAGIC):
            if path.name == DATABASE_NAME:
                raise SourceError(
                    f"{path} should be OpenClaw's agent database but is no SQLite file ({len(head)} bytes read); "
                    "restore it, or move it away to say that there is none"
                )
            return None
        try:
            copy = Copy(path)
            with closing(copy.connect()) as connection:
                return _sources(path, copy, connection)
        except (sqlite3.Error, OSError) as error:
            raise SourceError(
                f"{path} is a database but cannot be read: {error}; copy it together with its -wal and try again"
            ) from error


class Copy:
    """A private copy of a database and its write-ahead log; goes away with the last reference."""

    def __init__(self, path: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="clawgym-db-")
        self.path = Path(self._folder.name) / "copy.sqlite"
        wal = path.with_name(path.name + "-wal")
        for _ in range(_TRIES):
            before = (_state(path), _state(wal))
            shutil.copyfile(path, self.path)
            target = self.path.with_name(self.path.name + "-wal")
            target.unlink(missing_ok=True)
            if wal.exists():
                shutil.copyfile(wal, target)
            if (_state(path), _state(wal)) == before:
                return
            time.sleep(0.05)
        raise OSError(f"it changed during each of {_TRIES} copies")

    def connect(self) -> sqlite3.Connection:
        """Open the copy."""
        return sqlite3.connect(self.path)


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


@dataclass(frozen=True)
class TableSource:
    """The events of one session in one table."""

    kind: str
    path: str
    session_id: str | None
    identity: str
    copy: Copy = field(repr=False)
    query: str = field(repr=False)
    """Gives (seq, json bytes or null, zstd bytes or null, decoded length or null) of a session, by seq."""

    def lines(self, offset: int = 0, end: int | None = None) -> Iterator[Line]:
        """See `Source.lines`; stream offsets count the rows' texts with a newline behind each."""
        at = 0
        with closing(self.copy.connect()) as connection:
            for seq, text, packed, size in connection.execute(self.query, [self.session_id]):
                line = _line(seq, text, packed, size)
                if at >= offset:
                    yield line
                at += line.size
                if end is not None and at >= end:
                    return


def _line(seq: int, text: bytes | None, packed: bytes | None, size: int | None) -> Line:
    if packed is None:
        return Line(seq, text or b"", True)
    try:
        raw = zstandard.ZstdDecompressor().decompress(packed, max_output_size=min(size or _MAX_EVENT, _MAX_EVENT))
    except zstandard.ZstdError:
        return Line(seq, packed, True, "zstd", packed, "bad_zstd")
    return Line(seq, raw, True, "zstd", packed)


def _sources(path: Path, copy: Copy, connection: sqlite3.Connection) -> list[Source] | None:
    tables = {row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")}
    if "transcript_events" not in tables:
        return None
    packed = "event_zstd" in {row[1] for row in connection.execute("pragma table_info(transcript_events)")}
    columns = "event_zstd, event_utf8_bytes" if packed else "null, null"
    found: list[Source] = []
    queries = {
        "openclaw.transcript": (
            f"select seq, cast(event_json as blob), {columns} from transcript_events"  # noqa: S608 - two constants
            " where session_id = ? order by seq"
        ),
        "openclaw.trajectory": (
            "select seq, cast(event_json as blob), null, null from trajectory_runtime_events"
            " where session_id = ? order by seq"
        ),
    }
    for kind, table in (
        ("openclaw.transcript", "transcript_events"),
        ("openclaw.trajectory", "trajectory_runtime_events"),
    ):
        if table not in tables:
            continue
        sessions = connection.execute(f"select distinct session_id from {table} order by 1").fetchall()  # noqa: S608 - constant
        found += [TableSource(kind, str(path), row[0], row[0], copy, queries[kind]) for row in sessions]
    if "session_transcript_archives" in tables:
        found += _archives(path, connection)
    if "session_windows" in tables:
        found += _windows(path, connection)
    return found


def _archives(path: Path, connection: sqlite3.Connection) -> list[Source]:
    """Transcripts that were deleted or reset and are kept whole in a row."""
    found: list[Source] = []
    rows = connection.execute(
        "select session_id, encoding, archive_blob, archive_name from session_transcript_archives order by 1, 4"
    )
    for session, encoding, blob, name in rows:
        data = zstandard.ZstdDecompressor().decompressobj().decompress(blob) if encoding == "zstd" else bytes(blob)
        found.append(BytesSource("openclaw.jsonl", f"{path}#{name}", session, session, data))
    return found


def _windows(path: Path, connection: sqlite3.Connection) -> list[Source]:
    """One source a session: its row of `session_windows` (key, parent, status), for lineage."""
    cursor = connection.execute("select * from session_windows order by session_id")
    names = [column[0] for column in cursor.description]
    found: list[Source] = []
    for row in cursor:
        value = dict(zip(names, row, strict=True))
        data = json.dumps(value, ensure_ascii=False, sort_keys=True).encode()
        session = str(value["session_id"])
        found.append(
            BytesSource("openclaw.table", f"{path}#session_windows", session, f"session_windows/{session}", data)
        )
    return found
