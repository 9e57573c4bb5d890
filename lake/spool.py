"""The durable spool: where producers write before anything is committed.

A spool is a folder with one owner (an flock). Streams inside it number their own events. `seal` closes a segment;
the committer takes sealed segments, and the open one of an owner that died, as far as its complete lines go.
Does not belong here: Delta. Does not belong here: large raw logs, whose files are durable already.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
import uuid
import warnings
import weakref
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from lake import crash
from lake.durable import fsync
from lake.errors import LogError, ReplayError
from lake.ids import Json, canonical, event_id, sha256_hex, utc_now
from lake.settings import MAX_PAYLOAD

UNFINISHED: Final = ".new-"
"""Prefix of a spool folder that is not locked yet; the committer does not look into it."""

SEGMENT_BYTES: Final = 4 * 1024 * 1024
"""A segment of this size seals itself, which bounds what a committer holds in memory. Bytes."""

effects_forbidden: ContextVar[bool] = ContextVar("effects_forbidden", default=False)
"""True while a projection runs: opening a spool is then an error."""

_open_spools: weakref.WeakSet[Spool] = weakref.WeakSet()


class Spool:
    """One producer's durable buffer of events and blobs. Safe to use from several threads of its process."""

    def __init__(self, root: Path, *, actor: str, run_id: str | None = None) -> None:
        if effects_forbidden.get():
            raise ReplayError("a projection tried to append to the log; projections must be pure functions of it")
        self.spool_id = uuid.uuid4().hex
        self.path = root / "spool" / self.spool_id
        self.actor = actor
        self.run_id = run_id
        self._pid = os.getpid()
        self._mutex = threading.RLock()
        self._segment = 0
        self._size = 0
        self._fd: int | None = None
        self._seqs: dict[tuple[str, str], int] = {}
        self._unsynced: list[Path] = []
        self._closed = False
        # The folder gets its name only when it is locked: a committer never sees it without an owner.
        unfinished = root / "spool" / (UNFINISHED + self.spool_id)
        (unfinished / "blobs").mkdir(parents=True)
        self._lock_fd = os.open(unfinished / "lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC)
        fcntl.flock(self._lock_fd, fcntl.LOCK_EX)
        unfinished.rename(self.path)
        fsync(self.path.parent)
        _open_spools.add(self)

    def stream(self, kind: str, stream_id: str, *, next_seq: int = 0) -> Stream:
        """The stream `(kind, stream_id)`, which this spool alone produces.

        Args:
            kind: what the stream is about.
            stream_id: identity inside the kind.
            next_seq: where to go on when earlier events of the stream are in the log already.
        """
        with self._mutex:
            self._seqs.setdefault((kind, stream_id), next_seq)
        return Stream(self, kind, stream_id)

    def put_blob(self, data: bytes, mime: str = "application/octet-stream") -> str:
        """Store bytes by content; returns their sha256 (hex). Durable at the next `sync`, `seal` or `close`."""
        sha = sha256_hex(data)
        with self._mutex:
            self._check_usable(f"blob {sha}")
            target = self.path / "blobs" / sha
            if not target.exists():
                temporary = target.with_suffix(".tmp")
                temporary.write_bytes(data)
                temporary.rename(target)
                self._unsynced.append(target)
                self._write({"blob": sha, "mime": mime, "size": len(data)})
                crash.point("spool.after_blob")
        return sha

    def sync(self) -> None:
        """Force what was written to disk: blobs first, then the events that name them."""
        with self._mutex:
            self._check_usable("sync")
            for path in self._unsynced:
                # A committer may have taken (and removed) a blob of a sealed segment meanwhile: it is durable there.
                if path.exists():
                    fsync(path)
            if self._unsynced:
                fsync(self.path / "blobs")
                self._unsynced.clear()
            if self._fd is not None:
                os.fsync(self._fd)
                fsync(self.path)

    def seal(self) -> None:
        """Close the segment so that the committer may take it while this spool goes on."""
        with self._mutex:
            self._check_usable("seal")
            if self._fd is None:
                return
            crash.point("spool.before_seal")
            self.sync()
            os.close(self._fd)
            self._fd = None
            (self.path / f"{self._segment:06d}.open").rename(self.path / f"{self._segment:06d}.jsonl")
            fsync(self.path)
            self._segment += 1
            self._size = 0
            crash.point("spool.after_seal")

    def close(self) -> None:
        """Seal and give up ownership."""
        with self._mutex:
            if self._closed:
                return
            if self._pid == os.getpid():
                self.seal()
            self._give_up()

    def _give_up(self) -> None:
        """Close the files without a word; the lock goes when its last holder does."""
        self._closed = True
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        os.close(self._lock_fd)

    def _check_usable(self, what: str) -> None:
        if self._pid != os.getpid():
            raise LogError(f"spool {self.spool_id} belongs to process {self._pid}; open one in this process for {what}")
        if self._closed:
            raise LogError(f"spool {self.spool_id} is closed; open a new one for {what}")

    def _emit(self, kind: str, stream_id: str, record: dict[str, Json], payload: bytes) -> str:
        with self._mutex:
            self._check_usable(f"event {record['type']}")
            if len(payload) <= MAX_PAYLOAD:
                record["payload"] = payload.decode()
            else:
                record["payload_blob"] = self.put_blob(payload, "application/json")
            seq = self._seqs[(kind, stream_id)]
            self._write({**record, "stream_kind": kind, "stream_id": stream_id, "seq": seq})
            self._seqs[(kind, stream_id)] = seq + 1
            crash.point("spool.after_event")
            return event_id(kind, stream_id, seq)

    def _write(self, record: dict[str, Json]) -> None:
        """One line, straight to the kernel: nothing to flush, nothing for a forked child to write twice."""
        if self._fd is None:
            path = self.path / f"{self._segment:06d}.open"
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
        line = canonical(record).encode() + b"\n"
        self._size += len(line)
        while line:
            line = line[os.write(self._fd, line) :]
        if self._size >= SEGMENT_BYTES:
            self.seal()

    def __del__(self) -> None:
        """Let go of a spool nobody closed: its committer then takes it like that of a dead owner."""
        if not getattr(self, "_closed", True):
            warnings.warn(f"spool {self.spool_id} was never closed; its lines are kept", ResourceWarning, stacklevel=2)
            self._give_up()

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
        """State a fact; returns its event_id. A payload over 64 KiB becomes a blob.

        Raises:
            LogError: the spool is closed or another process's, or `occurred_at` has no time zone.
            ValueError: the payload holds NaN or an infinity.
        """
        when = occurred_at or utc_now()
        if when.tzinfo is None:
            raise LogError(f"event {type}: occurred_at {when.isoformat()} has no time zone; give it in UTC")
        record: dict[str, Json] = {
            "type": type,
            "type_version": type_version,
            "occurred_at": when.isoformat(),
            "caused_by": caused_by,
            "actor": self._spool.actor,
            "run_id": self._spool.run_id,
        }
        return self._spool._emit(self.kind, self.stream_id, record, canonical(payload).encode())  # noqa: SLF001 - one unit


def _after_fork_in_child() -> None:
    """A forked child lets go of its parent's spools, so that they are seen to be abandoned when the parent dies."""
    for spool in list(_open_spools):
        spool._mutex = threading.RLock()  # noqa: SLF001 - may have been held by another thread of the parent
        if not spool._closed:  # noqa: SLF001 - one unit
            spool._give_up()  # noqa: SLF001


os.register_at_fork(after_in_child=_after_fork_in_child)


def spool_folders(root: Path) -> list[Path]:
    """The spools of a lake, in name order."""
    folder = root / "spool"
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in found if path.is_dir() and not path.name.startswith(UNFINISHED))


def takeable(spool: Path, *, abandoned: bool) -> list[Path]:
    """The segments of a spool that a committer may take, in order: the sealed ones, and a dead owner's open one."""
    wanted = (".jsonl", ".open") if abandoned else (".jsonl",)
    try:
        return sorted(path for path in spool.iterdir() if path.suffix in wanted and path.stem.isdigit())
    except FileNotFoundError:
        return []  # swept meanwhile


def read_segment(path: Path) -> Iterator[dict[str, Json]]:
    """Records of a segment in order.

    The segment of a dead owner (`.open`) ends where its writer stopped: at a torn line, or at a blob that did not
    reach the disk whole. What lies behind was never said to be durable.

    Raises:
        LogError: a sealed segment is damaged.
    """
    abandoned = path.suffix == ".open"
    with path.open("rb") as file:
        for number, line in enumerate(file):
            record = _parse(line)
            if record is None or (abandoned and "blob" in record and not _is_whole(path.parent, record)):
                if abandoned:
                    return
                raise LogError(
                    f"line {number + 1} of the sealed segment {path} is damaged; restore the file or remove it"
                )
            yield record


def _parse(line: bytes) -> dict[str, Json] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _is_whole(spool: Path, record: dict[str, Json]) -> bool:
    sha = str(record["blob"])
    try:
        return sha256_hex((spool / "blobs" / sha).read_bytes()) == sha
    except FileNotFoundError:
        return False


def is_orphan(path: Path) -> bool:
    """Whether the owner of a spool folder is gone."""
    try:
        fd = os.open(path / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        # Shared: two committers that look at the same time do not take each other for the owner.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def is_stale_unfinished(path: Path) -> bool:
    """Whether a folder that never became a spool can go: its maker died before it got its name."""
    try:
        return path.name.startswith(UNFINISHED) and is_orphan(path) and time.time() - path.stat().st_mtime > 3600
    except FileNotFoundError:
        return False
