"""What the log already states about sources: their versions, how far each is in, and from where it was seen.

Belongs here: reading that state, and finding rows that an earlier ingest wrote but did not live to state.
Does not belong here: deciding what to append (`ingest`).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from assets.logs.reader import Line, Source
from lake import Lake
from lake.ids import digest, sha256_hex
from lake.reader import Reader

ANCHORLESS = frozenset(
    {"atif", "harbor.trial", "openclaw.sessions", "openclaw.stderr", "openclaw.stdout", "openclaw.table"}
)
"""Kinds whose single record changes as a whole: their first record is no part of the identity."""

ROW_KINDS = frozenset({"openclaw.transcript", "openclaw.trajectory"})
"""Kinds read from database rows: each has a newline behind it in the stream."""


def identity_of(source: Source, first: bytes | Line) -> str:
    """Identity of a source: kind, session identity, first record (or its bytes). 64 hex digits."""
    if source.kind in ANCHORLESS:
        first = b""
    if isinstance(first, Line):
        sha256 = sha256_hex(first.raw) if first.spilled is None else first.spilled.sha256
    else:
        sha256 = sha256_hex(first)
    return digest(source.kind, source.identity, sha256, length=64)


@dataclass
class Version:
    """One version of a source as far as it is in the log."""

    source_id: str
    version: int
    records: int
    bytes: int
    """Length of its stream."""
    sha256: str
    """Of its stream."""
    open_tail: bool
    """The last record has no line end behind it yet."""
    events: int
    """`source.ingested` events of it; the next one's seq."""


@dataclass
class Catalogue:
    """All versions of all sources."""

    versions: dict[str, list[Version]] = field(default_factory=lambda: defaultdict(list))
    paths: set[tuple[str, int, str]] = field(default_factory=set)
    """(source_id, version, path) from which it was ingested or seen."""
    taken: dict[str, dict[tuple[int, str], str]] = field(default_factory=dict)
    """Of each path, length and sha256 of the streams read from there, and the kind of the source."""
    forgotten: set[str] = field(default_factory=set)
    """Sources whose rows were taken out on purpose."""

    @classmethod
    def read(cls, lake: Lake | Reader) -> Catalogue:
        """The state stated by the events."""
        found = cls()
        for event in lake.events("source.ingested", "source.seen", "source.forgotten"):
            payload = event.payload
            if event.type == "source.forgotten":
                found.forgotten.add(payload["source_id"])
                continue
            found.paths.add((payload["source_id"], payload["version"], payload["path"]))
            if "sha256" in payload:
                kind = payload["source_kind" if event.type == "source.ingested" else "kind"]
                found.take(payload["path"], payload["bytes"], payload["sha256"], kind)
            if event.type == "source.ingested":
                found.state(
                    Version(
                        payload["source_id"],
                        payload["version"],
                        payload["records"],
                        payload["bytes"],
                        payload["sha256"],
                        payload["open_tail"],
                        event.seq + 1,
                    )
                )
        return found

    def state(self, version: Version) -> None:
        """Take over a (newer) state of a version."""
        known = self.versions[version.source_id]
        known[:] = [v for v in known if v.version != version.version] + [version]

    def take(self, path: str, size: int, sha256: str, kind: str) -> None:
        """Remember that the log holds a stream that was read from a path."""
        self.taken.setdefault(path, {})[size, sha256] = kind

    def records(self) -> int:
        """Rows of `raw_records` that the events account for."""
        return sum(
            version.records
            for source_id, versions in self.versions.items()
            if source_id not in self.forgotten
            for version in versions
        )

    def of(self, source_id: str) -> list[Version]:
        """Versions of a source, newest first."""
        return sorted(self.versions.get(source_id, []), key=lambda v: -v.version)


def unstated(
    lake: Reader, catalogue: Catalogue, source_ids: Collection[str] | None = None
) -> Iterator[tuple[Version, dict[str, str]]]:
    """Versions with more rows in the log than their events say: an ingest died between rows and event.

    Gives what the event should have said, and the kind, path, session and attempt of the rows.
    """
    # An event never says more than there is: where the sums are equal, each source is stated.
    if lake.fetch("raw_records", "select count(*) from raw_records") == [(catalogue.records(),)]:
        return
    counts = lake.fetch(
        "raw_records",
        "select source_id, version, count(*) n from raw_records"
        " where $ids is null or source_id in (select unnest($ids)) group by all order by all",
        {"ids": None if source_ids is None else sorted(source_ids)},
    )
    for found, version, rows in counts:
        known = next((v for v in catalogue.of(found) if v.version == version), None)
        if known is not None and known.records >= rows:
            continue
        (origin,) = lake.fetch(
            "raw_records",
            "select source_kind, source_path, session_id, attempt_id from raw_records"
            " where source_id = $1 and version = $2 order by position limit 1",
            [found, version],
        )
        yield (
            _state_of(lake, found, version, origin[0], 0 if known is None else known.events),
            dict(zip(("source_kind", "source_path", "session_id", "attempt_id"), origin, strict=True)),
        )


def _state_of(lake: Reader, source_id: str, version: int, kind: str, events: int) -> Version:
    hasher = hashlib.sha256()
    size = records = 0
    pieces = stream_of(lake, source_id, version, kind)
    for raw, newline in pieces:
        records += 1
        hasher.update(raw)
        size += len(raw)
        if newline:
            hasher.update(b"\n")
            size += 1
    return Version(source_id, version, records, size, hasher.hexdigest(), kind not in ROW_KINDS, events)


def stream_of(lake: Lake | Reader, source_id: str, version: int, kind: str) -> Iterator[tuple[bytes, bool]]:
    """The stream of a version as it is in the log: each record and whether a newline follows.

    What follows the last record of a file is not in the rows; it is given as no newline.
    """
    table = lake.raw_records("source_id = ? and version = ?", [source_id, version])
    rows = table.select(["position", "raw", "raw_blob", "raw_size"]).to_pylist()
    by_row = kind in ROW_KINDS
    for index, row in enumerate(rows):
        raw = row["raw"] if row["raw"] is not None else lake.blob(row["raw_blob"])
        following = rows[index + 1]["position"] if index + 1 < len(rows) else None
        yield raw, by_row or (following is not None and following > row["position"] + row["raw_size"])
