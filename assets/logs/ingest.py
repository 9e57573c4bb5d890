"""Taking one source into the log: which version it is, what of it is new, exactly once.

A file that grew appends only its new lines, growth proved by hashing the committed prefix again. Changed bytes make a
new version. Identical and prefix copies add one `source.seen` event and no rows. Rows go in first, then the event that
states them; what an ingest wrote but did not live to state is found again by `Catalogue` and stated.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final

from assets.logs.catalogue import Catalogue, Version, source_id_of, stream_of, unstated
from assets.logs.decode import head
from assets.logs.reader import Line, Source
from assets.logs.timestamps import parse_time
from assets.stage import Context
from lake import crash
from lake.ids import Json, digest, record_key, sha256_hex
from lake.spool import Spool

_BATCH_ROWS: Final = 10_000
_BATCH_BYTES: Final = 32 * 1024 * 1024
ACTOR: Final = "logs.ingest"


@dataclass(frozen=True)
class Taken:
    """Where a source ended up."""

    version: Version
    appended: int
    """Rows added now."""


class RacedError(Exception):
    """Another ingest appended the same batch first; look again."""


class Ingest:
    """One run of ingest over any number of sources. Close it, then commit the lake."""

    def __init__(self, context: Context) -> None:
        self._lake = context.lake
        self._spool: Spool = context.lake.spool(ACTOR, context.run_id)
        self._catalogue = Catalogue.read(context.lake)
        self.counts: Counter[str] = Counter()
        self._state_leftovers(None)

    def close(self) -> None:
        """Seal what was stated."""
        self._spool.close()

    def take(self, source: Source, attempt_id: str | None = None) -> Taken | None:
        """Bring a source into the log as far as it is not in yet; None when it holds no record.

        Safe to call again at any time and from several processes.
        """
        source_id = source_id_of(source)
        for _ in count():
            try:
                return self._take(source, source_id, attempt_id)
            except RacedError:
                self._catalogue = Catalogue.read(self._lake)
                self._state_leftovers(source_id)
        raise AssertionError("unreachable")

    def _take(self, source: Source, source_id: str, attempt_id: str | None) -> Taken | None:
        known = self._catalogue.of(source_id)
        measured = measure(source, [v.bytes for v in known])
        if measured.records == 0:
            return None
        grown: Version | None = None
        for version in known:
            if version.bytes == measured.bytes and version.sha256 == measured.sha256:
                return self._seen(source, version)
            if version.bytes < measured.bytes and measured.prefixes.get(version.bytes) == version.sha256:
                grown = max(grown or version, version, key=lambda v: v.bytes)
            elif version.bytes > measured.bytes and self._is_prefix_of(measured, version, source.kind):
                return self._seen(source, version)
        base = grown or Version(source_id, 1 + max((v.version for v in known), default=-1), 0, 0, "", False, 0)
        self.counts["grown" if grown else "new" if base.version == 0 else "changed"] += 1
        return self._append(source, base, measured, attempt_id)

    def _seen(self, source: Source, version: Version) -> Taken:
        key = (version.source_id, version.version, source.path)
        if key in self._catalogue.paths:
            self.counts["unchanged"] += 1
            return Taken(version, 0)
        self.counts["copies"] += 1
        self._catalogue.paths.add(key)
        self._spool.stream("source_seen", digest(*key)).emit(
            "source.seen",
            {"source_id": version.source_id, "version": version.version, "path": source.path, "kind": source.kind},
        )
        return Taken(version, 0)

    def _is_prefix_of(self, measured: Measured, version: Version, kind: str) -> bool:
        hasher = hashlib.sha256()
        left = measured.bytes
        for raw, newline in stream_of(self._lake, version.source_id, version.version, kind):
            piece = raw + b"\n" if newline else raw
            hasher.update(piece[:left])
            left -= min(left, len(piece))
            if left == 0:
                break
        return left == 0 and hasher.hexdigest() == measured.sha256

    def _append(self, source: Source, base: Version, measured: Measured, attempt_id: str | None) -> Taken:
        appended = 0
        for rows in _batches(source, base, measured.bytes, attempt_id):
            # The number of rows before a batch is its number: it says which state the batch was planned from, so that
            # of two that were planned from the same one the lake takes only the first.
            if not self._lake.append_raw(base.source_id, base.records + appended, rows):
                raise RacedError
            appended += len(rows)
        version = Version(
            base.source_id, base.version, base.records + appended, measured.bytes, measured.sha256,
            measured.open_tail, base.events,
        )  # fmt: skip
        crash.point("ingest.before_event")
        self.counts["records"] += appended
        return Taken(self._state(version, source.kind, source.path, source.session_id, attempt_id), appended)

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
        return stated

    def _state_leftovers(self, source_id: str | None) -> None:
        for version, origin in unstated(self._lake, self._catalogue, source_id):
            self.counts["recovered"] += 1
            self._state(
                version, origin["source_kind"], origin["source_path"], origin["session_id"], origin["attempt_id"]
            )


@dataclass(frozen=True)
class Measured:
    """Length and digest of a source's stream as it is now, and of prefixes of it."""

    records: int
    bytes: int
    sha256: str
    open_tail: bool
    prefixes: dict[int, str]
    """sha256 by length, for the lengths asked for."""


def measure(source: Source, lengths: list[int]) -> Measured:
    """One pass over a source's stream.

    Args:
        source: what to read.
        lengths: prefixes to hash on the way. Bytes.
    """
    hasher = hashlib.sha256()
    wanted = sorted(set(lengths))
    prefixes: dict[int, str] = {}
    records = at = 0
    terminated = True
    for line in source.lines():
        piece = line.raw + b"\n" if line.terminated else line.raw
        while wanted and at < wanted[0] <= at + len(piece):
            part = hasher.copy()
            part.update(piece[: wanted[0] - at])
            prefixes[wanted.pop(0)] = part.hexdigest()
        hasher.update(piece)
        at += len(piece)
        records += 1
        terminated = line.terminated
    return Measured(records, at, hasher.hexdigest(), not terminated, prefixes)


def _batches(source: Source, base: Version, end: int, attempt_id: str | None) -> Iterator[list[dict[str, Json]]]:
    rows: list[dict[str, Json]] = []
    size = 0
    for index, line in enumerate(source.lines(base.bytes, end)):
        if index == 0 and base.open_tail and not line.raw:
            continue  # only the newline behind a record that is in already
        rows.append(row_of(source, base, line, attempt_id))
        size += len(line.raw)
        if len(rows) >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def row_of(source: Source, version: Version, line: Line, attempt_id: str | None) -> dict[str, Json]:
    """A row of `raw_records` (without what the lake adds: `ingested_at`, `raw_blob`)."""
    if line.problem is None:
        fields, status = head(line.raw, first=line.position == 0 or version.bytes == 0)
    else:
        fields, status = head(b"", first=False)[0], line.problem
    return {
        "record_key": record_key(version.source_id, version.version, line.position),
        "source_id": version.source_id,
        "version": version.version,
        "position": line.position,
        "source_kind": source.kind,
        "source_path": source.path,
        "session_id": source.session_id,
        "attempt_id": attempt_id,
        "raw": line.raw,
        "raw_size": len(line.raw),
        "raw_sha256": sha256_hex(line.raw),
        "encoding": line.encoding,
        "stored": line.stored,
        "record_type": _text(fields.type),
        "record_id": _text(fields.name),
        "parent_id": _text(fields.parentId),
        "ts": parse_time(fields.time),
        "parse_status": status,
    }


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
