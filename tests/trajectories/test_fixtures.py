"""Every fixture file: its facts, and that no record of it is lost."""

from __future__ import annotations

import json

import pytest

from assets.trajectories.clean import CleanSession
from tests.trajectories.attempts import FIXTURES
from tests.trajectories.facts import Facts, check_facts, check_nothing_lost, clean_file
from tests.trajectories.sessions import found, said

FACTS: dict[str, Facts] = json.loads((FIXTURES / "facts.json").read_text())
TRANSCRIPTS = sorted(
    name
    for name, entry in FACTS.items()
    if entry["content"] == "transcript" and not name.endswith("gz_named_jsonl.jsonl")
)


def clean(name: str) -> CleanSession:
    return clean_file(FIXTURES / name)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_no_record_is_lost(name: str) -> None:
    check_nothing_lost(FIXTURES / name, FACTS[name]["facts"])


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_messages_calls_and_results_are_those_of_the_facts(name: str) -> None:
    check_facts(FIXTURES / name, FACTS[name]["facts"])


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
