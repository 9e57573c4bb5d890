"""Raw records to entries: decoded, with id, parent, kind and time; what is no entry gets its fate here.

Belongs here: one record at a time, and ids that repeat. Does not belong here: the tree (`tree`), what texts mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from assets.logs.decode import decode
from assets.logs.timestamps import parse_time
from assets.trajectories.findings import Findings, Place
from assets.trajectories.keys import repeated_keys
from assets.trajectories.rules import fields, structure
from assets.trajectories.rules import records as rules
from assets.trajectories.rules.noise import NOISE
from lake.ids import Json

SESSION_VERSIONS: Final = (1, 2, 3, 4)
_METADATA: Final = frozenset({"session_info", "label", "leaf"})
_SETTINGS: Final = frozenset({"model_change", "thinking_level_change"})
_NOISE_CUSTOM: Final = frozenset({"openclaw.cache-ttl"})
_IN_TREE: Final = frozenset({"compaction", "branch_summary", "custom_message", "reset"})
ROLES: Final = frozenset({"user", "assistant", "toolResult", "custom", "hookMessage", "bashExecution"})


@dataclass(frozen=True, slots=True)
class Row:
    """One raw record."""

    key: str
    position: int
    raw: bytes | None
    """Null when it is oversized: such records are not read into memory."""
    status: str
    """parse_status"""


@dataclass(slots=True)
class Entry(Place):
    """One record of a session that hangs in its tree."""

    kind: str = ""
    """`message`, or the record's type."""
    role: str = ""
    """Of messages."""
    id: str = ""
    parent: str | None = None
    stated_parent: Json = None
    value: dict[str, Json] = field(default_factory=dict)
    ts: datetime | None = None
    message: dict[str, Json] = field(default_factory=dict)
    """Body of a message; empty for other kinds."""


@dataclass(slots=True)
class Header(Place):
    """A session header."""

    session_id: str | None
    version: Json
    parent_session: str | None
    cwd: str | None
    ts: datetime | None


@dataclass(slots=True)
class Read:
    """Everything read from the records of one source."""

    entries: list[Entry]
    headers: list[Header]
    linear: bool
    """Format v1: no ids, each entry hangs on the one before."""
    leaf_target: str | None
    """Where a `leaf` record says the session stands."""


def read_entries(rows: Iterable[Row], findings: Findings, *, whole_rows: bool = False) -> Read:
    """Decode and sort out the records of one source, in order.

    Args:
        rows: raw records by position.
        findings: takes findings and fates.
        whole_rows: positions are row numbers of a database, so a record is never a piece of a line.
    """
    entries: list[Entry] = []
    headers: list[Header] = []
    leaf: str | None = None
    ids = _Ids(findings)
    for entry, raw in _objects(list(rows), findings, whole_rows):
        value = entry.value
        entry.ts = _time(entry, value, findings)
        kind = value.get("type")
        if kind == "session":
            headers.append(_header(entry, value, entry.ts, findings))
            continue
        _sort_out(entry, value, kind, findings)
        if not ids.give(entry, raw):
            continue
        if kind == "leaf" and isinstance(value.get("targetId"), str):
            leaf = value["targetId"]
        entries.append(entry)
    _check_headers(headers, entries, findings)
    linear = bool(entries) and not any(isinstance(entry.value.get("id"), str) for entry in entries)
    return Read(entries, headers, linear, leaf)


def _objects(rows: list[Row], findings: Findings, whole_rows: bool) -> Iterator[tuple[Entry, bytes]]:
    """Records that are objects, each as an entry of which nothing but the value is known."""
    scratch = bytearray()
    whole = whole_rows or not _any_torn(rows)
    lines = ((row, row.raw, ()) for row in rows) if whole else _whole_lines(rows)
    for line, (row, raw, parts) in enumerate(lines, 1):
        place = Entry(row.position, line, row.key)
        for part in parts:
            at = Place(part.position, line, part.key)
            findings.keep(at, "fragment")
            findings.add(at, rules.TORN_LINE)
        if raw is None or row.status == "bad_zstd":
            findings.quarantine(place, rules.OVERSIZED if raw is None else rules.BAD_ZSTD)
            continue
        decoded = decode(raw, first=line == 1)
        for note in decoded.notes:
            findings.add(place, rules.REPAIRED[note])
        if decoded.value is not None:
            for key in repeated_keys(raw, decoded, scratch):
                findings.add(place, rules.DUPLICATE_KEY, f"key {key!r}"[:80])
            place.value = decoded.value
            yield place, raw
        elif decoded.status == "blank":
            findings.drop(place, rules.BLANK)
        else:
            findings.quarantine(place, rules.UNREADABLE[decoded.status], f"{len(raw)} bytes")


def _any_torn(rows: list[Row]) -> bool:
    """Whether a record begins where the one before ends, without a line end between them."""
    end = -1
    for row in rows:
        if row.position == end:
            return True
        end = row.position + len(row.raw or b"")
    return False


def _whole_lines(rows: Iterable[Row]) -> Iterator[tuple[Row, bytes | None, Sequence[Row]]]:
    """Lines; the pieces of one that was taken in before it was complete are put together again."""
    start: Row | None = None
    pieces: list[Row] = []
    end = -1
    for row in rows:
        if start is not None and row.position == end and row.raw is not None and start.raw is not None:
            pieces.append(row)
        else:
            if start is not None:
                yield start, _joined(start, pieces), pieces
            start, pieces = row, []
        end = -1 if row.raw is None else row.position + len(row.raw)
    if start is not None:
        yield start, _joined(start, pieces), pieces


def _joined(start: Row, pieces: list[Row]) -> bytes | None:
    if not pieces or start.raw is None:
        return start.raw
    return start.raw + b"".join(piece.raw or b"" for piece in pieces)


def _time(place: Place, value: dict[str, Json], findings: Findings) -> datetime | None:
    stated = value.get("timestamp")
    found = parse_time(stated)
    if found is None:
        if stated is not None:
            findings.add(place, fields.BAD_TIME, repr(stated)[:60])
        message = value.get("message")
        if isinstance(message, dict):
            return parse_time(message.get("timestamp"))
    return found


def _header(place: Place, value: dict[str, Json], ts: datetime | None, findings: Findings) -> Header:
    findings.keep(place, "header")
    version = value.get("version", 1)
    if type(version) is not int or version not in SESSION_VERSIONS:
        findings.add(place, structure.UNKNOWN_VERSION, f"version {version!r}"[:80])
    parent = value.get("parentSession", value.get("branchedFrom"))
    return Header(
        place.position,
        place.line,
        place.key,
        _text(value.get("id")),
        version,
        _text(parent),
        _text(value.get("cwd")),
        ts,
    )


def _sort_out(entry: Entry, value: dict[str, Json], kind: Json, findings: Findings) -> None:
    """Set what an entry of the tree is, and its fate where that does not depend on the branch."""
    entry.stated_parent = value.get("parentId")
    entry.kind = kind if isinstance(kind, str) else ""
    message = value.get("message")
    if isinstance(message, dict):
        entry.message = message
    if entry.kind == "message":
        if value.get("timestamp") is None:
            findings.add(entry, fields.NO_TIME, "the message states one" if entry.ts is not None else "")
        role = entry.message.get("role")
        if not isinstance(role, str) or role not in ROLES:
            findings.quarantine(entry, rules.UNKNOWN_ROLE, f"role {role!r}"[:80])
            entry.kind = "unknown"
        else:
            entry.role = role
    elif entry.kind in _SETTINGS:
        findings.keep(entry, "setting")
    elif entry.kind in _METADATA:
        findings.keep(entry, "metadata")
    elif entry.kind == "custom":
        if str(value.get("customType")) in _NOISE_CUSTOM:
            findings.drop(entry, NOISE)
        else:
            findings.keep(entry, "metadata")
    elif entry.kind not in _IN_TREE:
        findings.quarantine(entry, rules.UNKNOWN_TYPE, f"type {kind!r}"[:80])
        entry.kind = "unknown"


class _Ids:
    """Gives each entry an id of its own."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._taken: dict[str, bytes] = {}

    def give(self, entry: Entry, raw: bytes) -> bool:
        """Set the entry's id; False when it is the same record again."""
        stated = entry.value.get("id")
        if not isinstance(stated, str) or not stated:
            entry.id = f"#{entry.position}"
            if stated is not None or "id" in entry.value:
                self._findings.add(entry, structure.ID_MISSING, repr(stated)[:60])
            return True
        if stated not in self._taken:
            self._taken[stated] = raw
            entry.id = stated
            return True
        if self._taken[stated] == raw:
            self._findings.drop(entry, structure.DUPLICATE_ENTRY, f"id {stated}"[:80])
            return False
        entry.id = f"{stated}#{entry.position}"
        self._findings.add(entry, structure.DUPLICATE_ID, f"id {stated}"[:80])
        return True


def _check_headers(headers: list[Header], entries: list[Entry], findings: Findings) -> None:
    for header in headers[1:]:
        findings.add(header, structure.SECOND_HEADER, f"session {header.session_id}"[:80])
    if not headers and entries:
        findings.add(entries[0], structure.NO_HEADER)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
