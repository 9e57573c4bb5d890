"""Mutated sessions: cleaning never raises, never loses a line, and gives the same for the same lines."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from assets.trajectories.content import dumps
from assets.trajectories.linear import linear
from benchmarks.conformance.cases import CASES
from lake.masking import Masker
from tests.trajectories.attempts import FIXTURES, SAMPLES
from tests.trajectories.sessions import clean_lines, found, rows_of, said

_POOL = [
    line
    for path in [
        SAMPLES / "toolerr" / "main.transcript.jsonl",
        FIXTURES / "handmade" / "wrong_types.jsonl",
        FIXTURES / "handmade" / "compaction_firstkept_missing.jsonl",
        FIXTURES / "handmade" / "branch_gateway_injected.jsonl",
        FIXTURES / "handmade" / "same_call_id_twice.jsonl",
        FIXTURES / "handmade" / "unknown_record_type.jsonl",
    ]
    for line in Path(path).read_bytes().split(b"\n")
    if line
]

_POOL += [
    line
    for case in CASES
    for name, data in case.expected.files.items()
    if name.endswith(".jsonl") and len(data) < 64_000
    for line in data.split(b"\n")
    if line
]

_LINES = st.lists(st.integers(0, len(_POOL) - 1), max_size=30)
_EDITS = st.lists(
    st.tuples(st.integers(0, 29), st.integers(0, 2_000), st.binary(max_size=6), st.integers(0, 40)), max_size=6
)


def _mutate(chosen: list[int], edits: list[tuple[int, int, bytes, int]]) -> list[bytes]:
    lines = [_POOL[number] for number in chosen]
    for line, at, put, cut in edits:
        if line < len(lines):
            at %= len(lines[line]) + 1
            lines[line] = (lines[line][:at] + put + lines[line][at + cut :]).replace(b"\n", b"")
    return lines


@settings(max_examples=150, deadline=None)
@given(_LINES, _EDITS)
def test_mutated_sessions_lose_no_line(chosen: list[int], edits: list[tuple[int, int, bytes, int]]) -> None:
    lines = _mutate(chosen, edits)
    session = clean_lines(lines)  # checks that the fates are as many as the lines
    assert all(rule != "unplaced" for _, rule in session.ledger)
    masker = Masker()
    positions = {row.position for row in rows_of(lines)}
    for branch in session.branches:
        for _, message in linear(branch.steps, None):
            json.loads(masker.mask_json(message))
            dumps(message).encode()
        answered = [step.tool_call_id for step in branch.steps if step.role == "tool"]
        assert len(answered) == len(set(answered))
        assert {step.at.position for step in branch.steps} <= positions
    assert {finding.position for finding in session.findings.found.values()} <= positions


@settings(max_examples=40, deadline=None)
@given(_LINES, _EDITS)
def test_the_same_lines_give_the_same(chosen: list[int], edits: list[tuple[int, int, bytes, int]]) -> None:
    lines = _mutate(chosen, edits)
    one, two = clean_lines(lines), clean_lines(lines)
    assert found(one) == found(two) and one.ledger == two.ledger
    assert [said(one, b.branch) for b in one.branches] == [said(two, b.branch) for b in two.branches]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["type", "id", "parentId", "message", "timestamp"]), _VALUES), max_size=8))
def test_records_of_any_types_lose_no_line(fields: list[tuple[str, object]]) -> None:
    lines = list(_POOL[:8])
    for number, (name, value) in enumerate(fields):
        record = json.loads(_POOL[10 + number])
        record[name] = value
        lines.append(json.dumps(record).encode())
    clean_lines(lines)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["role", "content", "usage", "toolCallId", "isError", "details", "stopReason", "responseId", "model"]
            ),
            _VALUES,
        ),
        max_size=8,
    )
)
def test_messages_of_any_types_lose_no_line(fields: list[tuple[str, object]]) -> None:
    lines = list(_POOL[:8])
    for number, (name, value) in enumerate(fields):
        record = json.loads(_POOL[4 + number])
        if isinstance(record.get("message"), dict):
            record["message"][name] = value
        lines.append(json.dumps(record).encode())
    session = clean_lines(lines)
    for branch in session.branches:
        for _, message in linear(branch.steps, None):
            dumps(message).encode()
