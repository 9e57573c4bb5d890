"""Raw records grouped into what belongs together: an attempt with all its logs, or one foreign session.

Belongs here: which sources there are, which version of each is cleaned, which trajectory events go with which
transcript. Does not belong here: reading records.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Final

from assets.logs.decode import MAX_DECODED
from assets.logs.sessions import home_of
from assets.trajectories.clean import SourceRef
from assets.trajectories.entries import Row
from assets.trajectories.formats.source import COLD, FORMATS
from lake import View
from lake.ids import Json

TRANSCRIPTS: Final = frozenset({"openclaw.transcript", "openclaw.jsonl", COLD, *FORMATS})
"""Kinds whose records hold conversations."""

TRACES: Final = frozenset({"openclaw.trajectory", "openclaw.trajectory.jsonl"})
CALLS: Final = "proxy.call"


@dataclass
class Source:
    """One version of one source with its records."""

    ref: SourceRef
    home: str
    """State folder it lay in."""
    rows: list[Row]
    newest: datetime | None
    """Latest time a record states."""
    begun: datetime | None
    """What the first record states (a fork's header is younger than the history it copied), else the earliest time."""


@dataclass
class Group:
    """Everything cleaned together."""

    attempt_id: str | None
    transcripts: list[Source] = field(default_factory=list)
    traces: dict[str, list[Source]] = field(default_factory=lambda: defaultdict(list))
    """By session id."""
    calls: list[Source] = field(default_factory=list)
    others: list[Source] = field(default_factory=list)
    superseded: list[Source] = field(default_factory=list)


_COLUMNS: Final = (
    "source_id", "version", "source_kind", "session_id", "attempt_id", "record_key", "position", "raw", "raw_blob",
    "raw_size", "parse_status", "ts", "source_path",
)  # fmt: skip


def groups(view: View) -> list[Group]:
    """Attempts first, by id; then foreign sessions by their first time. Deterministic."""
    attempts: dict[str, Group] = {}
    foreign: dict[tuple[str, str], Group] = {}
    for versions in _by_source(view):
        current = max(versions, key=_standing)
        attempt = current.ref.attempt_id
        if attempt is not None:
            group = attempts.setdefault(attempt, Group(attempt))
        else:
            # ids people give (`task-001`) come again in other state folders
            key = (current.home, current.ref.session_id or current.ref.source_id)
            group = foreign.setdefault(key, Group(None))
        group.superseded += [version for version in versions if version is not current]
        _sort_in(group, current)
    _bring_traces_home(foreign)
    for group in (*attempts.values(), *foreign.values()):
        # of several copies of a session the fullest has its turns, the others what only they have
        group.transcripts.sort(key=lambda source: (-len(source.rows), source.ref.source_id))
    ordered = sorted(foreign.items(), key=lambda item: (_first_time(item[1]), item[0]))
    return [attempts[name] for name in sorted(attempts)] + [group for _, group in ordered]


def _bring_traces_home(foreign: dict[tuple[str, str], Group]) -> None:
    """Put trajectory events that lie without their transcript with the only one of their session elsewhere."""
    with_transcript: dict[str, list[Group]] = defaultdict(list)
    for (_, session_id), group in foreign.items():
        if group.transcripts:
            with_transcript[session_id].append(group)
    for key, group in list(foreign.items()):
        homes = with_transcript[key[1]]
        if not group.transcripts and group.traces and len(homes) == 1:
            for session_id, sources in group.traces.items():
                homes[0].traces[session_id] += sources
            group.traces.clear()


def _by_source(view: View) -> Iterator[list[Source]]:
    table = view.raw_records().select(list(_COLUMNS))
    columns = [table.column(name).to_pylist() for name in _COLUMNS]
    large = {sha for sha, size in zip(columns[8], columns[9], strict=True) if sha is not None and size <= MAX_DECODED}
    blobs = view.blobs(sorted(large)) if large else {}
    records = zip(*columns, strict=True)
    for _, of_source in groupby(records, key=lambda record: record[0]):
        versions: list[Source] = []
        for _, of_version in groupby(of_source, key=lambda record: record[1]):
            versions.append(_source(list(of_version), blobs))
        yield versions


def _source(records: list[tuple[Json, ...]], blobs: dict[str, bytes]) -> Source:
    source_id, version, kind, session_id, attempt_id = records[0][:5]
    rows = [
        Row(record[5], record[6], record[7] if record[7] is not None else blobs.get(record[8]), record[10])
        for record in records
    ]
    times = [record[11] for record in records if record[11] is not None]
    ref = SourceRef(source_id, version, kind, session_id, attempt_id)
    return Source(
        ref, home_of(records[0][12]), rows, max(times, default=None), records[0][11] or min(times, default=None)
    )


def _standing(source: Source) -> tuple[bool, datetime | int, int, int]:
    """Of several versions the one that went furthest in time is cleaned, then the longest, then the latest taken in."""
    return source.newest is not None, source.newest or 0, len(source.rows), source.ref.version


def _sort_in(group: Group, source: Source) -> None:
    if source.ref.kind in TRANSCRIPTS:
        group.transcripts.append(source)
    elif source.ref.kind in TRACES:
        group.traces[source.ref.session_id or ""].append(source)
    elif source.ref.kind == CALLS:
        group.calls.append(source)
    else:
        group.others.append(source)


def _first_time(group: Group) -> str:
    times = [source.begun for source in group.transcripts if source.begun is not None]
    return min(times).isoformat() if times else "~"
