"""Every fixture file: its facts, and that no record of it is lost."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from assets.logs.decode import decode
from assets.logs.readers.streams import FileSource
from assets.trajectories.clean import CleanSession, SourceRef, clean_session
from assets.trajectories.content import read_content
from assets.trajectories.entries import Entry, Row, read_entries
from assets.trajectories.findings import Findings
from assets.trajectories.wording import is_heartbeat
from tests.trajectories.attempts import FIXTURES
from tests.trajectories.sessions import found, said

FACTS: dict[str, dict[str, Any]] = json.loads((FIXTURES / "facts.json").read_text())
TRANSCRIPTS = sorted(
    name
    for name, entry in FACTS.items()
    if entry["content"] == "transcript" and not name.endswith("gz_named_jsonl.jsonl")
)


def rows_of(name: str) -> list[Row]:
    from assets.logs.decode import head

    lines = FileSource("", str(FIXTURES / name), None, "").lines()
    return [
        Row(f"{line.position}", line.position, line.raw, head(line.raw, first=line.position == 0)[1]) for line in lines
    ]


def clean(name: str) -> CleanSession:
    return clean_session(SourceRef("f" * 64, 0, "openclaw.jsonl", "name"), rows_of(name))


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_no_record_is_lost(name: str) -> None:
    session = clean(name)
    assert sum(session.ledger.values()) == FACTS[name]["facts"]["n_lines"]
    assert all(rule != "unplaced" for _, rule in session.ledger)
    quarantined = sum(
        count for (fate, rule), count in session.ledger.items() if rule in ("bad_json", "not_object", "bad_utf8")
    )
    facts = FACTS[name]["facts"]
    assert quarantined == facts["n_malformed"] - facts.get("n_recoverable", 0)
    for branch in session.branches:
        calls = [call.id for step in branch.steps for call in step.calls]
        assert len(calls) == len(set(calls))
        json.dumps(said(session, branch.branch)).encode()


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_messages_calls_and_results_are_those_of_the_facts(name: str) -> None:
    """Counted as the facts are: valid records, file by file, copies and all."""
    facts = FACTS[name]["facts"]
    rows = [row for row in rows_of(name) if row.status == "ok"]
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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("branch_user_edits", [3]),
        ("branch_delivery_mirror", [1]),
        ("branch_gateway_injected", [1]),
        ("interleaved_two_sessions", [2]),
        ("two_sessions_concatenated", [2]),
        ("parent_cycle", [1]),
        ("self_parent", [1]),
        ("parent_missing", [1]),
        ("baseline", [1]),
    ],
)
def test_branches_of_the_handmade_files(name: str, expected: list[int]) -> None:
    assert [len(clean(f"handmade/{name}.jsonl").branches)] == expected


def test_a_gateway_note_loses_no_answer() -> None:
    assert said(clean("handmade/branch_gateway_injected.jsonl")) == [
        "user: hi", "assistant: Hello there.", "user: more", "assistant: Done.",
    ]  # fmt: skip


def test_three_channels_one_error() -> None:
    calls = [call for step in clean("handmade/tool_error_channels.jsonl").branches[0].steps for call in step.calls]
    results = [call.result for call in calls]
    assert [result.is_error for result in results if result] == [True] * 4
    assert [result.error_source for result in results if result] == [
        "is_error", "is_error", "details_status", "exit_code",
    ]  # fmt: skip


def test_forty_parallel_calls_are_answered_in_order_but_one() -> None:
    session = clean("handmade/parallel_40_calls.jsonl")
    calls = session.branches[0].steps[1].calls
    assert [call.stated_id for call in calls if call.result is None] == ["call_p17"]
    answered = [step.tool_call_id for step in session.branches[0].steps if step.role == "tool"]
    assert answered == [call.id for call in calls if call.result is not None]


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("big_integers", "nonfinite_number"),
        ("deep_nesting_2000", "deep_nesting"),
        ("duplicate_entry_ids", "duplicate_entry"),
        ("duplicate_entry_ids", "duplicate_entry_id"),
        ("lone_surrogates", "lone_surrogate"),
        ("nan_infinity", "nonfinite_number"),
        ("negative_usage", "bad_usage"),
        ("non_utf8_bytes", "bad_utf8_replaced"),
        ("orphan_result", "orphan_result"),
        ("parent_cycle", "parent_cycle"),
        ("parent_missing", "parent_missing"),
        ("result_before_call", "result_moved"),
        ("same_call_id_twice", "extra_result"),
        ("second_header", "second_header"),
        ("session_version_99", "unknown_session_version"),
        ("timestamps_unreadable", "bad_timestamp"),
        ("timestamps_extreme", "out_of_order_time"),
        ("unknown_record_type", "unknown_record_type"),
        ("unknown_record_type", "unknown_role"),
        ("unknown_record_type", "unknown_block"),
        ("utf8_bom", "utf8_bom"),
        ("compaction_firstkept_missing", "compaction_first_kept_missing"),
    ],
)
def test_each_defect_has_its_finding(name: str, rule: str) -> None:
    files = {"second_header": "two_sessions_concatenated"}
    assert rule in {found_rule for found_rule, _ in found(clean(f"handmade/{files.get(name, name)}.jsonl"))}
