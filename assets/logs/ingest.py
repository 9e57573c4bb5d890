"""Taking sources into the log: which version each is, what of it is new, exactly once.

A file that grew appends only its new lines, growth proved by hashing the committed prefix again. Changed bytes make a
new version. Identical and prefix copies add one `source.seen` event and no rows. Small sources go in together, many in
one commit. Rows go in first, then the events that state them; what an ingest wrote but did not live to state is found
again by `Catalogue` and stated. Reading and measuring a source is `loading`'s business.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from assets.logs.catalogue import Catalogue, Version, stream_of, unstated
from assets.logs.loading import BATCH_BYTES, BATCH_ROWS, Loaded, batch_of, batches, load
from assets.logs.reader import Source
from assets.stage import Context
from lake import crash
from lake.ids import Json, digest
from lake.raw import Batch
from lake.reader import Reader
from lake.spool import Spool

ACTOR: Final = "logs.ingest"

_AT_ONCE: Final = 1024 * 1024
"""A file up to this size is hashed with one read. Bytes."""


@dataclass(frozen=True)
class Taken:
    """Where a source ended up."""

    version: Version
    appended: int
    """Rows added now."""


Then = Callable[[Source, Taken], None]
"""Called when a source is in."""


@dataclass(frozen=True)
class _Want:
    """A source somebody wants in the log."""

    source: Source
    attempt_id: str | None
    then: Then | None
    content: bytes | None = None
    """All bytes of its file, the first time it is looked at."""


@dataclass(frozen=True)
class _Pending:
    """A source whose rows wait for the next commit."""

    want: _Want
    batch: Batch
    after: Version
    """The version's state once the batch is in."""
    what: str
    """Which count it goes to: new, grown or changed."""


class Ingest:
    """One run of ingest over any number of sources. `flush` at the end, close it, then commit the lake."""

    def __init__(self, context: Context) -> None:
        self._lake = context.lake
        self._run_id = context.run_id
        self._opened: Spool | None = None
        self.counts: Counter[str] = Counter()
        self._queue: deque[_Want] = deque()
        self._pending: dict[str, _Pending] = {}
        self._rows = self._bytes = 0  # of what is pending
        self._later: list[_Want] = []
        """Sources of which an earlier state is pending: what is new of them shows only when that is in."""
        context.lake.commit()  # what others stated and did not live to commit: stated again, it would be left out
        reader = context.lake.now()
        self._catalogue = Catalogue.read(reader)
        # From here on the catalogue knows every row up to this version of the table: whatever another process adds
        # to a source we plan for comes with a later transaction.
        self._since = context.lake.store.transactions_since("raw_records", reader.version("raw_records"))
        self._state_leftovers(reader, None)

    def close(self) -> None:
        """Seal what was stated."""
        if self._opened is not None:
            self._opened.close()

    @property
    def _spool(self) -> Spool:
        """Opened when there is something to state: most runs find nothing new."""
        if self._opened is None:
            self._opened = self._lake.spool(ACTOR, self._run_id)
        return self._opened

    def is_in(self, path: str, file: io.FileIO) -> str | None:
        """Kind of the source whose stream a file is, byte for byte, if it was taken from this path before; counts it.

        A file that is told apart from others by more than its bytes (a database) is never found so, nor is a
        compressed one.
        """
        size = os.fstat(file.fileno()).st_size
        known = {sha: kind for (length, sha), kind in self._catalogue.taken.get(path, {}).items() if length == size}
        kind = known.get(_sha256(file, size)) if known else None
        if kind is not None:
            self.counts["unchanged"] += 1
        return kind

    def take(
        self,
        source: Source,
        attempt_id: str | None = None,
        then: Then | None = None,
        content: bytes | None = None,
    ) -> None:
        """Bring a source into the log as far as it is not in yet; one without a record is passed over.

        Its rows may wait for those of others until `flush`. Safe to call again at any time and from several processes.

        Args:
            source: what to take.
            attempt_id: attempt of ours it belongs to.
            then: called when it is in and stated; not at all when it holds no record or was forgotten.
            content: all bytes of its file, where they were just read.
        """
        self._queue.append(_Want(source, attempt_id, then, content))
        self._work()

    def flush(self) -> None:
        """Bring in everything that waits."""
        while self._pending:
            self._write()
            self._work()

    def _work(self) -> None:
        while self._queue:
            self._take(self._queue.popleft())
            if self._rows >= BATCH_ROWS or self._bytes >= BATCH_BYTES:
                self._write()

    def _write(self) -> None:
        """One commit of what is pending, then the events; what others brought in first is looked at again."""
        pending, self._pending = list(self._pending.values()), {}
        self._rows = self._bytes = 0
        outcomes = self._lake.append_raw_many([p.batch for p in pending], since=self._since)
        lost: set[str] = set()
        for one, outcome in zip(pending, outcomes, strict=True):
            if outcome == "appended":
                self.counts[one.what] += 1
                self._finish(one.want, one.after, one.batch.size)
            elif outcome == "forgotten":
                self.counts["forgotten"] += 1
            else:
                lost.add(one.batch.source_id)
                self._queue.append(one.want)
        self._look_again(lost)
        self._queue.extend(self._later)
        self._later = []

    def _look_again(self, lost: set[str]) -> None:
        """Learn what others brought in of these sources."""
        if lost:
            reader = self._lake.now()
            self._catalogue = Catalogue.read(reader)
            self._state_leftovers(reader, lost)

    def _finish(self, want: _Want, after: Version, appended: int) -> None:
        crash.point("ingest.before_event")
        self.counts["records"] += appended
        source = want.source
        stated = self._state(after, source.kind, source.path, source.session_id, want.attempt_id)
        if want.then is not None:
            want.then(source, Taken(stated, appended))

    def _take(self, want: _Want) -> None:
        loaded = load(want.source, lambda source_id: [v.bytes for v in self._catalogue.of(source_id)], want.content)
        want = replace(want, content=None)  # not held while it waits, and read anew when it is looked at again
        if loaded is None:
            return
        if loaded.source_id in self._pending:
            self._later.append(want)
            return
        known = self._catalogue.of(loaded.source_id)
        grown: Version | None = None
        for version in known:
            if version.bytes == loaded.bytes and version.sha256 == loaded.sha256:
                return self._seen(want, version, loaded)
            if version.bytes < loaded.bytes and loaded.prefixes.get(version.bytes) == version.sha256:
                grown = max(grown or version, version, key=lambda v: v.bytes)
            elif version.bytes > loaded.bytes and self._is_prefix_of(loaded, version, want.source.kind):
                return self._seen(want, version, loaded)
        number = 1 + max((v.version for v in known), default=-1)
        base = grown or Version(loaded.source_id, number, 0, 0, "", False, 0)
        self._append(want, base, loaded, "grown" if grown else "new" if base.version == 0 else "changed")
        return None

    def _seen(self, want: _Want, version: Version, loaded: Loaded) -> None:
        source = want.source
        key = (version.source_id, version.version, source.path)
        if key in self._catalogue.paths:
            self.counts["unchanged"] += 1
        else:
            self.counts["copies"] += 1
            self._catalogue.paths.add(key)
            self._catalogue.take(source.path, loaded.bytes, loaded.sha256, source.kind)
            payload: dict[str, Json] = {
                "source_id": version.source_id,
                "version": version.version,
                "path": source.path,
                "kind": source.kind,
                "bytes": loaded.bytes,
                "sha256": loaded.sha256,
            }
            self._spool.stream("source_seen", digest(*key)).emit("source.seen", payload)
        if want.then is not None:
            want.then(source, Taken(version, 0))

    def _is_prefix_of(self, loaded: Loaded, version: Version, kind: str) -> bool:
        hasher = hashlib.sha256()
        left = loaded.bytes
        for raw, newline in stream_of(self._lake, version.source_id, version.version, kind):
            piece = raw + b"\n" if newline else raw
            hasher.update(piece[:left])
            left -= min(left, len(piece))
            if left == 0:
                break
        return left == 0 and hasher.hexdigest() == loaded.sha256

    def _append(self, want: _Want, base: Version, loaded: Loaded, what: str) -> None:
        """Plan the rows behind `base`: into the pending ones, or, of a large source, one commit a batch."""
        source = want.source
        appended = 0
        # The number of rows before a batch is its number: it says which state the batch was planned from, so that of
        # two that were planned from the same one the lake takes only the first.
        for records in batches(source, base, loaded):
            batch = batch_of(source, base, base.records + appended, records, want.attempt_id)
            appended += batch.size
            after = Version(
                base.source_id, base.version, base.records + appended, loaded.bytes, loaded.sha256,
                loaded.open_tail, base.events,
            )  # fmt: skip
            if loaded.held is not None:
                self._pending[base.source_id] = _Pending(want, batch, after, what)
                self._rows += batch.size
                self._bytes += records.size
                return
            (outcome,) = self._lake.append_raw_many([batch], since=self._since)
            if outcome == "forgotten":
                self.counts["forgotten"] += 1
                return
            if outcome == "there":
                self._look_again({base.source_id})
                self._queue.append(want)
                return
        self.counts[what] += 1
        if not appended:  # only the newline behind a record that is in already
            after = Version(
                base.source_id, base.version, base.records, loaded.bytes, loaded.sha256, loaded.open_tail, base.events
            )
        self._finish(want, after, appended)

    def _state(self, version: Version, kind: str, path: str, session_id: str | None, attempt_id: str | None) -> Version:
        payload: dict[str, Json] = {
            "source_id": version.source_id,
            "version": version.version,
            "source_kind": kind,
            "path": path,
            "session_id": session_id,
            "attempt_id": attempt_id,
            "records": version.records,
            "bytes": version.bytes,
            "sha256": version.sha256,
            "open_tail": version.open_tail,
        }
        stream = self._spool.stream("source", f"{version.source_id}/{version.version}", next_seq=version.events)
        stream.emit("source.ingested", payload)
        stated = Version(
            version.source_id, version.version, version.records, version.bytes, version.sha256, version.open_tail,
            version.events + 1,
        )  # fmt: skip
        self._catalogue.state(stated)
        self._catalogue.paths.add((version.source_id, version.version, path))
        self._catalogue.take(path, version.bytes, version.sha256, kind)
        return stated

    def _state_leftovers(self, reader: Reader, source_ids: set[str] | None) -> None:
        for version, origin in unstated(reader, self._catalogue, source_ids):
            self.counts["recovered"] += 1
            self._state(
                version, origin["source_kind"], origin["source_path"], origin["session_id"], origin["attempt_id"]
            )


def _sha256(file: io.FileIO, size: int) -> str:
    """Of all that is in a file now."""
    if size <= _AT_ONCE:
        return hashlib.sha256(file.read()).hexdigest()
    return hashlib.file_digest(file, "sha256").hexdigest()
