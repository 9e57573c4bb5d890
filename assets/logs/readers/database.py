"""OpenClaw's databases (2026.8 and later): transcripts and trajectories, and the tables beside them (`tables`).

The file and its write-ahead log are copied and the copy is opened, so a live database is neither locked nor touched.
A database that is there and cannot be read is an error, never an empty success.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import zstandard

from assets.logs.reader import Line, Source, text_of
from assets.logs.readers.tables import STATE_TABLES, table_sources
from lake.errors import SourceError

DATABASE_NAME: Final = "openclaw-agent.sqlite"
MAGIC: Final = b"SQLite format 3\x00"
_TRIES: Final = 20
MAX_EVENT: Final = 64 * 1024 * 1024
"""A compressed row that states no length is decompressed up to here. Bytes."""

_UNREADABLE: Final = (sqlite3.Error, UnicodeDecodeError)
"""What a broken database raises; the latter where the message names something that is no text."""

_WAL_HEADER: Final = 32
"""A log that begins anew has another header (its salts)."""


class DatabaseReader:
    """See the module."""

    name = "database"

    def sources(self, path: Path, head: bytes) -> list[Source] | None:
        """See `Reader.sources`."""
        if not head.startswith(MAGIC):
            if path.name == DATABASE_NAME:
                raise SourceError(
                    f"{text_of(path)} should be OpenClaw's agent database but is no SQLite file "
                    f"({len(head)} bytes read); restore it, or move it away to say that there is none"
                )
            return None
        try:
            copy = Copy(path)
            with closing(copy.connect()) as connection:
                found = _sources(path, copy, connection)
        except (*_UNREADABLE, OSError) as error:
            raise SourceError(
                f"{text_of(path)} is a database but cannot be read: {error}; "
                "copy it together with its -wal and try again"
            ) from error
        if found is None and path.name == DATABASE_NAME:
            raise SourceError(
                f"{text_of(path)} is called OpenClaw's agent database but has no table transcript_events; "
                "open it with the OpenClaw it belongs to, or move it away to say that there is none"
            )
        return found


class Copy:
    """A private copy of a database and its journals; goes away with the last reference.

    A writer may go on meanwhile: what it appends to the write-ahead log behind the last commit copied is not seen, and
    a rollback journal undoes, in the copy, what was not committed. Only a checkpoint in between means copying again.
    """

    def __init__(self, path: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="clawgym-db-")
        self.path = Path(self._folder.name) / "copy.sqlite"
        for attempt in range(_TRIES):
            time.sleep(0.05 if attempt else 0)
            before = _state(path)
            for suffix in ("", "-wal", "-journal"):
                target = self.path.with_name(self.path.name + suffix)
                target.unlink(missing_ok=True)
                with suppress(FileNotFoundError):
                    shutil.copyfile(path.with_name(path.name + suffix), target)
            if self.path.exists() and _state(path) == before:
                return
        raise OSError(f"it changed during each of {_TRIES} copies")

    def connect(self) -> sqlite3.Connection:
        """Open the copy."""
        connection = sqlite3.connect(self.path)
        connection.text_factory = _text
        return connection


def _state(path: Path) -> tuple[object, ...]:
    """What stays the same while a writer only appends to its write-ahead log."""
    wal = path.with_name(path.name + "-wal")
    try:
        with wal.open("rb") as file:
            header = file.read(_WAL_HEADER)
    except FileNotFoundError:
        header = b""
    return _stamp(path), header, _stamp(path.with_name(path.name + "-journal"))


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _stamp(path: Path) -> tuple[int, int] | None:
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
        try:
            with closing(self.copy.connect()) as connection:
                for seq, text, packed, size in connection.execute(self.query, [self.session_id]):
                    line = _line(seq, text, packed, size)
                    if at >= offset:
                        yield line
                    at += line.size
                    if end is not None and at >= end:
                        return
        except _UNREADABLE as error:
            raise SourceError(
                f"{self.path} breaks off in the {self.kind} of session {self.session_id}: {error}; "
                "restore it from a backup and ingest again"
            ) from error


def _line(seq: int, text: bytes | None, packed: bytes | None, size: int | None) -> Line:
    if packed is None:
        return Line(seq, text or b"", True)
    try:
        raw = zstandard.ZstdDecompressor().decompress(packed, max_output_size=min(size or MAX_EVENT, MAX_EVENT))
    except zstandard.ZstdError:
        return Line(seq, packed, True, "zstd", packed, "bad_zstd")
    return Line(seq, raw, True, "zstd", packed)


def _sources(path: Path, copy: Copy, connection: sqlite3.Connection) -> list[Source] | None:
    tables = {row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")}
    if "transcript_events" not in tables:
        return list(table_sources(path, connection, tables)) if tables & STATE_TABLES else None
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
        found += [TableSource(kind, text_of(path), row[0], row[0], copy, queries[kind]) for row in sessions]
    return [*found, *table_sources(path, connection, tables)]
