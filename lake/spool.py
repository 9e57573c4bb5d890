"""The durable spool: where producers write before anything is committed.

A spool is a folder with one owner (an flock). Streams inside it number their own events. `seal` closes a segment;
the committer takes sealed segments, and the open one of an owner that died.
Does not belong here: Delta. Does not belong here: large raw logs, whose files are durable already.
"""

from __future__ import annotations

import fcntl
import json
import os
import uuid
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from lake import crash
from lake.errors import LogError, ReplayError
from lake.ids import Json, canonical, event_id, sha256_hex, utc_now
from lake.settings import MAX_PAYLOAD

effects_forbidden: ContextVar[bool] = ContextVar("effects_forbidden", default=False)
"""True while a replay runs: opening a spool is then an error."""


def fsync_dir(path: Path) -> None:
    """Make a folder's entries durable."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class Spool:
    """One producer's durable buffer of events and blobs."""

    def __init__(self, root: Path, *, actor: str, run_id: str | None = None) -> None:
        if effects_forbidden.get():
            raise ReplayError("a replay tried to append to the log; projections must be pure functions of it")
        self.spool_id = uuid.uuid4().hex
        self.path = root / "spool" / self.spool_id
        self.actor = actor
        self.run_id = run_id
        (self.path / "blobs").mkdir(parents=True)
        self._lock: BinaryIO = (self.path / "lock").open("wb")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        fsync_dir(self.path.parent)
        self._segment = 0
        self._file: BinaryIO | None = None
        self._seqs: dict[tuple[str, str], int] = {}
        self._closed = False

    def stream(self, kind: str, stream_id: str, *, next_seq: int = 0) -> Stream:
        """The stream `(kind, stream_id)`, which this spool alone produces.

        Args:
            next_seq: where to go on when earlier events of the stream are in the log already.
        """
        self._seqs.setdefault((kind, stream_id), next_seq)
        return Stream(self, kind, stream_id)

    def put_blob(self, data: bytes, mime: str = "application/octet-stream") -> str:
        """Store bytes by content; returns their sha256 (hex). Durable at the next `sync`, `seal` or `close`."""
        sha = sha256_hex(data)
        target = self.path / "blobs" / sha
        if not target.exists():
            temporary = target.with_suffix(".tmp")
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(target)
            self._write({"blob": sha, "mime": mime, "size": len(data)})
            crash.point("spool.after_blob")
        return sha

    def sync(self) -> None:
        """Force what was written to disk."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())

    def seal(self) -> None:
        """Close the segment so that the committer may take it while this spool goes on."""
        if self._file is None:
            return
        crash.point("spool.before_seal")
        self.sync()
        self._file.close()
        self._file = None
        (self.path / f"{self._segment:06d}.open").rename(self.path / f"{self._segment:06d}.jsonl")
        fsync_dir(self.path)
        self._segment += 1
        crash.point("spool.after_seal")

    def close(self) -> None:
        """Seal and give up ownership."""
        if not self._closed:
            self.seal()
            self._closed = True
            self._lock.close()

    def _emit(self, kind: str, stream_id: str, record: dict[str, Json]) -> str:
        if self._closed:
            raise LogError(f"spool {self.spool_id} is closed; open a new one to state {record['type']}")
        seq = self._seqs[(kind, stream_id)]
        self._write({**record, "stream_kind": kind, "stream_id": stream_id, "seq": seq})
        self._seqs[(kind, stream_id)] = seq + 1
        crash.point("spool.after_event")
        return event_id(kind, stream_id, seq)

    def _write(self, record: dict[str, Json]) -> None:
        if self._file is None:
            self._file = (self.path / f"{self._segment:06d}.open").open("ab")
        self._file.write(canonical(record).encode("utf-8", "surrogatepass") + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Stream:
    """Events about one thing, numbered from 0 by their only producer."""

    def __init__(self, spool: Spool, kind: str, stream_id: str) -> None:
        self._spool, self.kind, self.stream_id = spool, kind, stream_id

    def emit(
        self,
        type: str,  # noqa: A002 - the field's own name in the log
        payload: Json,
        *,
        type_version: int = 1,
        occurred_at: datetime | None = None,
        caused_by: str | None = None,
    ) -> str:
        """State a fact; returns its event_id. A payload over 64 KiB becomes a blob."""
        text = canonical(payload)
        record: dict[str, Json] = {
            "type": type,
            "type_version": type_version,
            "occurred_at": (occurred_at or utc_now()).isoformat(),
            "caused_by": caused_by,
            "actor": self._spool.actor,
            "run_id": self._spool.run_id,
        }
        data = text.encode("utf-8", "surrogatepass")
        if len(data) <= MAX_PAYLOAD:
            record["payload"] = text
        else:
            record["payload_blob"] = self._spool.put_blob(data, "application/json")
        return self._spool._emit(self.kind, self.stream_id, record)  # noqa: SLF001 - one unit


def read_segment(path: Path) -> Iterator[dict[str, Json]]:
    """Records of a segment in order; a torn last line (its writer died) ends it."""
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                return
            yield json.loads(line.decode("utf-8", "surrogatepass"))


def is_orphan(path: Path) -> bool:
    """Whether the owner of a spool folder is gone."""
    lock = path / "lock"
    if not lock.exists():
        return True
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
