"""The facts stated of a session file, against what the readers and the cleaner make of it.

Counted as the facts are: file by file, valid records only, copies and all. Does not belong here: which files there are.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from assets.logs.decode import decode, head
from assets.logs.readers.streams import FileSource
from assets.logs.timestamps import parse_time
from assets.trajectories.clean import CleanSession, SourceRef, clean_session
from assets.trajectories.content import read_content
from assets.trajectories.entries import Entry, Row, read_entries
from assets.trajectories.findings import Findings
from assets.trajectories.wording import is_heartbeat
from tests.trajectories.sessions import said

Facts = dict[str, Any]


def rows_of(path: Path) -> list[Row]:
    """Raw records of a file, decompressed where it is compressed."""
    lines = FileSource("", str(path), None, "").lines()
    return [
        Row(f"{line.position}", line.position, line.raw, head(line.raw, first=line.position == 0)[1]) for line in lines
    ]


def clean_file(path: Path) -> CleanSession:
    """A file's session, cleaned."""
    return clean_session(SourceRef("f" * 64, 0, "openclaw.jsonl", "name"), rows_of(path))


def check_nothing_lost(path: Path, facts: Facts) -> None:
    """Every line has one fate, what is malformed is set aside, and what is kept can be written."""
    session = clean_file(path)
    assert sum(session.ledger.values()) == facts["n_lines"]
    assert all(rule != "unplaced" for _, rule in session.ledger)
    fates = Counter({rule: count for (_, rule), count in session.ledger.items()})
    unreadable = fates["bad_json"] + fates["not_object"] + fates["bad_utf8"]
    assert unreadable == facts["n_malformed"] - facts.get("n_recoverable", 0)
    assert fates["blank_line"] == facts["n_blank"]
    for branch in session.branches:
        calls = [call.id for step in branch.steps for call in step.calls]
        assert len(calls) == len(set(calls))
        json.dumps(said(session, branch.branch)).encode()


def check_facts(path: Path, facts: Facts) -> None:
    """Messages, calls, results, images, branches, tokens, times are those of the facts."""
    rows = [row for row in rows_of(path) if row.status == "ok"]
    assert len(rows) == facts["n_valid_records"]
    messages = [
        value["message"]
        for row in rows
        if (value := decode(row.raw or b"").value) and isinstance(value.get("message"), dict)
    ]
    roles = Counter(str(message.get("role")) for message in messages)
    stated = facts["n_messages"]
    assert {role: roles[role] for role in stated} == stated
    entries = read_entries(rows, Findings()).entries + _dropped_entries(rows)
    contents = [(entry, read_content(entry, Findings(), joiner="")) for entry in entries if entry.kind == "message"]
    calls = [call for _, content in contents for call in content.calls]
    assert len(calls) == facts["n_tool_calls"]
    assert sum(content.images for _, content in contents) == facts["n_images"]
    results = [entry.message.get("toolCallId") for entry, _ in contents if entry.role == "toolResult"]
    assert len(results) == facts["n_tool_results"]
    assert sum(result not in {call.stated_id for call in calls} for result in results) == facts["n_orphans"]
    named = {call.stated_id for call in calls if call.stated_id}
    assert len(named - set(results)) == facts["n_missing_results"]
    beats = sum(is_heartbeat(content.text) for entry, content in contents if entry.role == "user")
    assert beats == facts["n_heartbeat_turns"]
    assert sum(entry.kind == "compaction" for entry in entries) == facts["n_compactions"]
    assert _branching_points(rows) == facts["n_branches"]
    assert _tokens(entries) == facts["total_usage_tokens"]
    values = [decode(row.raw or b"", first=row.position == 0).value or {} for row in rows]
    times = [ts for value in values if (ts := parse_time(value.get("timestamp")))]
    wanted = (parse_time(facts["first_ts"]), parse_time(facts["last_ts"]))
    assert (min(times, default=None), max(times, default=None)) == wanted


def _dropped_entries(rows: list[Row]) -> list[Entry]:
    """Entries that are the same record again, which the facts count as they stand."""
    kept = {entry.position for entry in read_entries(rows, Findings()).entries}
    again: list[Entry] = []
    for row in rows:
        if row.position not in kept:
            again += read_entries([row], Findings()).entries
    return again


def _branching_points(rows: list[Row]) -> int:
    children: dict[str, set[str]] = {}
    for row in rows:
        value = decode(row.raw or b"").value or {}
        parent, own = value.get("parentId"), value.get("id")
        if isinstance(parent, str) and own is not None:
            children.setdefault(parent, set()).add(str(own))
    return sum(len(found) > 1 for found in children.values())


def _tokens(entries: list[Entry]) -> int:
    total = 0
    for entry in entries:
        usage = entry.message.get("usage")
        if entry.role != "assistant" or not isinstance(usage, dict):
            continue
        stated = next((usage[key] for key in ("totalTokens", "total_tokens") if usage.get(key) is not None), None)
        parts = (
            [stated] if stated is not None else [usage.get(k) for k in ("input", "output", "cacheRead", "cacheWrite")]
        )
        total += sum(part for part in parts if type(part) is int)
    return total
