"""Raw records grouped into what belongs together: an attempt with all its logs, or one foreign session.

Belongs here: which sources there are, which version of each is cleaned, which trajectory events go with which
transcript; getting their records. Does not belong here: reading a record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import groupby
from typing import Final

import pyarrow as pa

from assets.logs.decode import MAX_DECODED
from assets.logs.sessions import home_of
from assets.trajectories.clean import SourceRef
from assets.trajectories.entries import Row
from assets.trajectories.formats.source import COLD, FORMATS
from lake import View
from lake.engine import SQL_ROOT
from lake.grouping import Group
from lake.ids import Json, digest

TRANSCRIPTS: Final = frozenset({"openclaw.transcript", "openclaw.jsonl", COLD, *FORMATS})
"""Kinds whose records hold conversations."""

TRACES: Final = frozenset({"openclaw.trajectory", "openclaw.trajectory.jsonl"})
CALLS: Final = "proxy.call"


@dataclass(frozen=True)
class Version:
    """One version of one source, as the log describes it."""

    ref: SourceRef
    home: str
    """State folder it lay in."""
    records: int
    last: int
    """Position of its last record: a version only ever grows, so this and the count say what it holds."""
    bytes: int
    decoded: int
    """Bytes of what is decoded of it."""
    newest: datetime | None
    """Latest time a record states."""
    begun: datetime | None
    """What the first record states (a fork's header is younger than the history it copied), else the earliest time."""


@dataclass
class Outline:
    """What is cleaned together, by source versions."""

    attempt_id: str | None
    attempt: Mapping[str, Json] | None = None
    """Id, task, policy and session of the attempt, where its row is there."""
    transcripts: list[Version] = field(default_factory=list)
    traces: dict[str, list[Version]] = field(default_factory=lambda: defaultdict(list))
    """By session id."""
    calls: list[Version] = field(default_factory=list)
    others: list[Version] = field(default_factory=list)
    superseded: list[Version] = field(default_factory=list)

    @property
    def read(self) -> list[Version]:
        """The versions whose records are looked at; of the others they are only counted."""
        traces = [versions[0] for versions in self.traces.values()]
        foreign = [v for v in self.superseded if self.attempt_id is None and v.ref.kind in TRANSCRIPTS]
        return [*self.transcripts, *traces, *self.calls[:1], *foreign]

    @property
    def versions(self) -> list[Version]:
        """All versions."""
        traces = [version for versions in self.traces.values() for version in versions]
        return [*self.transcripts, *traces, *self.calls, *self.others, *self.superseded]


@dataclass
class Source:
    """One version of one source with its records, where they are looked at."""

    ref: SourceRef
    rows: list[Row]
    records: int


@dataclass
class Bundle:
    """Everything cleaned together, with records."""

    attempt_id: str | None
    transcripts: list[Source]
    traces: dict[str, list[Source]]
    """By session id."""
    calls: list[Source]
    others: list[Source]
    superseded: list[Source]

    def forget_records(self) -> None:
        """Let go of the records, once they are cleaned; how many there were stays known."""
        traces = [source for sources in self.traces.values() for source in sources]
        for source in (*self.transcripts, *traces, *self.calls, *self.superseded):
            source.rows = []


_COLUMNS: Final = ("source_id", "version", "record_key", "position", "raw", "raw_blob", "raw_size", "parse_status")
_ATTEMPTS: Final = "select attempt_id, task_id, policy, session_id from attempts"


def plan(view: View) -> list[Group]:
    """All groups: attempts first, by id; then foreign sessions by their first time."""
    attempts = {row["attempt_id"]: row for row in view.sql(_ATTEMPTS).to_pylist()}
    ours: dict[str, Outline] = {}
    foreign: dict[tuple[str, str], Outline] = {}
    for versions in _by_source(view):
        current = max(versions, key=_standing)
        attempt = current.ref.attempt_id
        if attempt is not None:
            outline = ours.setdefault(attempt, Outline(attempt, attempts.get(attempt)))
        else:
            # ids people give (`task-001`) come again in other state folders
            key = (current.home, current.ref.session_id or current.ref.source_id)
            outline = foreign.setdefault(key, Outline(None))
        outline.superseded += [version for version in versions if version is not current]
        _sort_in(outline, current)
    _bring_traces_home(foreign)
    for outline in (*ours.values(), *foreign.values()):
        # of several copies of a session the fullest has its turns, the others what only they have
        outline.transcripts.sort(key=lambda version: (-version.records, version.ref.source_id))
    groups = [_group(f"0/{attempt}", outline, "attempt", attempt) for attempt, outline in ours.items()]
    for (home, session), outline in foreign.items():
        groups.append(_group(f"1/{_first_time(outline)}/{home}/{session}", outline, "session", home, session))
    return sorted(groups, key=lambda group: group.place)


def _group(place: str, outline: Outline, *identity: str) -> Group:
    versions = [
        [v.ref.source_id, v.ref.version, v.ref.kind, v.ref.session_id, v.ref.attempt_id, v.records, v.last, v.bytes]
        for v in outline.versions
    ]
    size = sum(version.decoded for version in outline.read)
    return Group(digest(*identity), place, digest(place, outline.attempt, versions, length=32), size, outline)


def _bring_traces_home(foreign: dict[tuple[str, str], Outline]) -> None:
    """Put trajectory events that lie without their transcript with the only one of their session elsewhere."""
    with_transcript: dict[str, list[Outline]] = defaultdict(list)
    for (_, session_id), group in foreign.items():
        if group.transcripts:
            with_transcript[session_id].append(group)
    for key, group in list(foreign.items()):
        homes = with_transcript[key[1]]
        if not group.transcripts and group.traces and len(homes) == 1:
            for session_id, sources in group.traces.items():
                homes[0].traces[session_id] += sources
            group.traces.clear()


def _by_source(view: View) -> Iterator[list[Version]]:
    described = view.sql((SQL_ROOT / "trajectories" / "source_versions.sql").read_text(), {"decoded": MAX_DECODED})
    for _, versions in groupby(described.to_pylist(), key=lambda row: row["source_id"]):
        yield [_version(row) for row in versions]


def _version(row: dict[str, Json]) -> Version:
    ref = SourceRef(row["source_id"], row["version"], row["source_kind"], row["session_id"], row["attempt_id"])
    home = _home(row["source_path"].split("#", 1)[0].rpartition("/")[0])
    return Version(
        ref, home, row["records"], row["last_position"], row["bytes"], row["decoded"], row["newest"], row["begun"]
    )


@cache
def _home(folder: str) -> str:
    """The state folder of a source by the folder of its file, of which there are few."""
    return home_of(f"{folder}/file")


def _standing(version: Version) -> tuple[bool, datetime | int, int, int]:
    """Of several versions the one that went furthest in time is cleaned, then the longest, then the latest taken in."""
    return version.newest is not None, version.newest or 0, version.records, version.ref.version


def _sort_in(outline: Outline, version: Version) -> None:
    if version.ref.kind in TRANSCRIPTS:
        outline.transcripts.append(version)
    elif version.ref.kind in TRACES:
        outline.traces[version.ref.session_id or ""].append(version)
    elif version.ref.kind == CALLS:
        outline.calls.append(version)
    else:
        outline.others.append(version)


def _first_time(outline: Outline) -> str:
    times = [version.begun for version in outline.transcripts if version.begun is not None]
    return min(times).isoformat() if times else "~"


# --- records -------------------------------------------------------------------------------------------------


def load(view: View, chunks: Sequence[Sequence[Group]]) -> Iterator[list[tuple[Group, Bundle]]]:
    """The groups of each chunk with their records."""
    keys = [[_key(version) for group in chunk for version in group.material.read] for chunk in chunks]
    for chunk, table in zip(chunks, view.raw_chunks(keys, _COLUMNS), strict=True):
        rows = _rows(view, table)
        del table
        yield [(group, _bundle(group.material, rows)) for group in chunk]


def _key(version: Version) -> tuple[str, int]:
    return version.ref.source_id, version.ref.version


def _rows(view: View, table: pa.Table) -> dict[tuple[str, int], list[Row]]:
    """Records by source version, in order."""
    columns = [table.column(name).to_pylist() for name in _COLUMNS]
    large = {sha for sha, size in zip(columns[5], columns[6], strict=True) if sha is not None and size <= MAX_DECODED}
    blobs = view.blobs(sorted(large)) if large else {}
    found: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for source_id, version, key, position, raw, blob, _, status in zip(*columns, strict=True):
        found[source_id, version].append(Row(key, position, raw if raw is not None else blobs.get(blob), status))
    return found


def _bundle(outline: Outline, rows: dict[tuple[str, int], list[Row]]) -> Bundle:
    """The outline with records, which are taken out of `rows`."""

    def sources(versions: list[Version]) -> list[Source]:
        return [Source(version.ref, rows.pop(_key(version), []), version.records) for version in versions]

    return Bundle(
        outline.attempt_id,
        sources(outline.transcripts),
        {session: sources(versions) for session, versions in outline.traces.items()},
        sources(outline.calls),
        sources(outline.others),
        sources(outline.superseded),
    )
