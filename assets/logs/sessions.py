"""Who is whose session, as the agent's own books state it: index, database rows, sub-agent runs, run headers.

Belongs here: reading those statements, one row a session of one state folder. Does not belong here: deciding which
session a sub-agent's parent was (the view `session_lineage`, which knows the transcripts too).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final

from assets.logs.decode import MAX_DECODED, decode
from assets.logs.timestamps import parse_time
from lake import View
from lake.ids import Json

BOOKS: Final = (
    "source_kind in ('openclaw.sessions', 'openclaw.table')"
    " or (record_type = 'session.started' and source_kind in ('openclaw.trajectory', 'openclaw.trajectory.jsonl'))"
)
"""The raw records that state sessions."""

_FOLDERS: Final = frozenset({"sessions", "state", "cron", "subagents"})


@dataclass(frozen=True)
class Stated:
    """What one record states of one session."""

    home: str
    session_id: str
    fields: dict[str, Json]
    """Columns of `sessions`; what it does not state is missing."""
    at: datetime | None
    """When it was true: of two statements the later one holds."""


def home_of(path: str) -> str:
    """The state folder (`~/.openclaw`) a source lay in: keys of sessions are unique only inside it."""
    place = PurePosixPath(path.split("#", 1)[0])
    parts = place.parts
    if "agents" in parts[:-1]:
        at = len(parts) - 1 - parts[::-1].index("agents")
        return str(PurePosixPath(*parts[:at]))
    parent = place.parent
    if parent.name == "runs":
        parent = parent.parent
    return str(parent.parent if parent.name in _FOLDERS else parent)


def session_rows(view: View) -> list[dict[str, Json]]:
    """Rows of `sessions`: all statements on a session of a state folder put together, later ones over earlier ones."""
    rows: dict[tuple[str, str], dict[str, Json]] = {}
    stated = list(_statements(view))
    stated.sort(key=lambda one: (one.at is not None, one.at or 0))
    by_key: dict[tuple[str, str], list[dict[str, Json]]] = {}
    for one in stated:
        row = rows.setdefault((one.home, one.session_id), {"home": one.home, "session_id": one.session_id})
        row.update({name: value for name, value in one.fields.items() if value is not None})
    for (home, _), row in rows.items():
        by_key.setdefault((home, str(row.get("session_key"))), []).append(row)
    _add_runs(rows, by_key)
    for row in rows.values():
        row.setdefault("session_key", None)
        row["kind"], row["agent_id"] = _kind_of(row["session_key"])
    return list(rows.values())


_RUN: Final = "run:"
"""Begins the made-up session id of a sub-agent's run while it is looked for which session that was."""


def _add_runs(
    rows: dict[tuple[str, str], dict[str, Json]], by_key: dict[tuple[str, str], list[dict[str, Json]]]
) -> None:
    """Put what is stated of a run on the session with its key; a run whose session nobody names goes by its key."""
    for (home, name), run in list(rows.items()):
        if not name.startswith(_RUN):
            continue
        del rows[home, name]
        known = [row for row in by_key[home, str(run["session_key"])] if not row["session_id"].startswith(_RUN)]
        for row in known:
            row.setdefault("spawned_by", run.get("spawned_by"))
        if not known:
            rows.setdefault((home, run["session_key"]), {**run, "session_id": run["session_key"]})


def _statements(view: View) -> Iterator[Stated]:
    table = view.raw_records(BOOKS)
    names = ("source_kind", "source_path", "record_key", "raw", "raw_blob", "raw_size", "ts")
    columns = [table.column(name).to_pylist() for name in names]
    large = {sha for sha, size in zip(columns[4], columns[5], strict=True) if sha is not None and size <= MAX_DECODED}
    blobs = view.blobs(sorted(large)) if large else {}
    for kind, path, key, raw, blob, _, ts in zip(*columns, strict=True):
        data = raw if raw is not None else blobs.get(blob)
        value = None if data is None else decode(data, first=True).value
        if value is None:
            continue  # stated as unreadable by cleaning
        for session_id, fields, at in _read(kind, path, value, ts):
            fields |= {"stated_by": kind, "record_key": key}
            yield Stated(home_of(path), session_id, fields, at)


_Found = Iterator[tuple[str, dict[str, Json], datetime | None]]


def _read(kind: str, path: str, value: dict[str, Json], ts: datetime | None) -> _Found:
    if kind == "openclaw.sessions":
        yield from _index(value)
    elif path.endswith("#session_windows"):
        yield from _row(value.get("session_id"), value.get("session_key"), value)
    elif path.endswith("#session_nodes"):
        entry = value.get("entry_json")
        inner = decode(entry.encode("utf-8", "replace")).value if isinstance(entry, str) else None
        yield from _row(value.get("current_session_id"), value.get("session_key"), {**(inner or {}), **_given(value)})
    elif path.endswith(("#subagent_runs", "#task_runs")):
        child, spawned_by = _text(value.get("child_session_key")), _text(value.get("requester_session_key"))
        if child and spawned_by and child != spawned_by and "subagent" in child.split(":"):
            fields = {"session_key": child, "spawned_by": spawned_by}
            yield f"{_RUN}{value.get('run_id')}", fields, parse_time(value.get("created_at"))
    elif isinstance(value.get("sessionId"), str):
        yield value["sessionId"], {"session_key": _text(value.get("sessionKey"))}, ts


def _index(value: dict[str, Json]) -> _Found:
    """`sessions.json`: key to entry; the earliest ones are a list of entries without keys."""
    listed = value.get("sessions")
    if isinstance(listed, list):
        for entry in listed:
            if isinstance(entry, dict):
                yield from _row(entry.get("id"), None, entry)
        return
    for key, entry in value.items():
        if not isinstance(entry, dict):
            continue
        earlier = entry.get("usageFamilySessionIds")
        for name in earlier if isinstance(earlier, list) else ():
            if isinstance(name, str) and name != entry.get("sessionId"):
                yield name, {"session_key": key}, None
        yield from _row(entry.get("sessionId"), key, entry)


def _row(session_id: Json, key: Json, entry: dict[str, Json]) -> _Found:
    """One session's entry, whose fields are called alike in the index and (in snake case) in the database."""
    if not isinstance(session_id, str) or not session_id:
        return

    def given(*names: str) -> Json:
        return next((entry[name] for name in names if entry.get(name) is not None), None)

    depth = given("spawnDepth", "spawn_depth")
    fields: dict[str, Json] = {
        "session_key": _text(key),
        "spawned_by": _text(given("spawnedBy", "spawned_by")),
        "parent_key": _text(given("parentSessionKey", "parent_session_key")),
        "forked_from": _text(given("forkSourceSessionId", "fork_source_session_id", "previous_session_id")),
        "spawn_depth": depth if type(depth) is int and 0 <= depth < 2**31 else None,
        "label": _text(given("label", "display_name", "displayName")),
        "status": _text(given("status")),
        "started_at": parse_time(given("sessionStartedAt", "startedAt", "started_at", "createdAt", "created_at")),
        "updated_at": parse_time(given("updatedAt", "updated_at")),
    }
    yield session_id, fields, fields["updated_at"]


def _given(value: dict[str, Json]) -> dict[str, Json]:
    return {name: stated for name, stated in value.items() if stated is not None}


def _kind_of(key: Json) -> tuple[str | None, str | None]:
    """What a key says: `agent:<agent>:<what>…`."""
    parts = key.split(":") if isinstance(key, str) else []
    if len(parts) < 3 or parts[0] != "agent":
        return (None if not parts else "other"), None
    what = parts[2]
    if "subagent" in parts[2:]:
        return "subagent", parts[1]
    return (what if what in ("main", "cron", "explicit") else "channel"), parts[1]


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
