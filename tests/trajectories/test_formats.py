"""Conversations that are no transcripts: each format's fields, and that cleaning treats them like any other."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.trajectories.clean import CleanSession, Stated
from assets.trajectories.copies import Answers
from assets.trajectories.formats.atif import KNOWN
from assets.trajectories.linear import linear
from tests.trajectories.documents import BASH, atif, chat, clean
from tests.trajectories.sessions import said


def rules(session: CleanSession) -> set[str]:
    return {finding.rule.name for finding in session.findings.found.values()}


def mark_copies(session: CleanSession) -> None:
    """As in a lake that holds nothing else."""
    answers = Answers(session)
    first: dict[str, str] = {}
    for holder, identity in answers.held():
        first.setdefault(identity, holder)
    answers.mark(first)


# --- ATIF ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [name.removeprefix("ATIF-v") for name in KNOWN])
def test_every_version_of_atif_gives_the_same_conversation(version: str) -> None:
    session = clean("atif", atif(version))
    (branch,) = session.branches
    images = "\n[image image/png, images/1.png]" if version >= "1.6" else ""
    images += "\n[audio audio/wav, say.wav]" if version >= "1.8" else ""
    assert said(session) == [
        "system: You are an agent.",
        f"user: Which files are there?{images}",
        "assistant: I look. ['call_1']",
        "tool<call_1>: a.txt\nb.txt",
        "assistant: a.txt and b.txt.",
    ]
    assert (branch.session_id, branch.class_) == ("run-1", "normal")
    turn = branch.steps[2]
    assert (turn.thinking, turn.model, turn.input_tokens, turn.output_tokens) == (
        "The folder first.", "some-model", 120, 9,
    )  # fmt: skip
    assert turn.usage is not None and "token_ids" not in turn.usage
    assert session.stated == {branch.trajectory_id: Stated([BASH] if version >= "1.5" else None, "terminus 2.0")}
    assert "unknown_session_version" not in rules(session)
    assert session.ledger == {("kept", "conversation"): 1}


@pytest.mark.parametrize("version", ["1.9", "2.0", "x"])
def test_a_version_of_the_future_is_read_and_stated(version: str) -> None:
    session = clean("atif", atif("1.7", schema_version=f"ATIF-v{version}", new_field={"a": 1}))
    assert len(said(session)) == 5 and "unknown_session_version" in rules(session)


def test_copied_steps_are_context_and_a_document_of_nothing_else_is_a_copy() -> None:
    document = atif()
    for step in document["steps"][1:3]:
        step["is_copied_context"] = True
    session = clean("atif", document)
    contexts = [(step.role, step.context) for step in session.branches[0].steps]
    assert contexts == [
        ("system", False), ("user", True), ("assistant", True), ("tool", True), ("assistant", False),
    ]  # fmt: skip
    assert "copied_step" in rules(session) and session.branches[0].class_ == "normal"
    document["steps"][3]["is_copied_context"] = True
    assert clean("atif", document).branches[0].class_ == "copy"


def test_sub_agents_inside_a_document_are_sessions_of_their_own_with_their_parent() -> None:
    inner = atif(session_id="run-1", trajectory_id="helper", steps=atif()["steps"][1:])
    document = atif(subagent_trajectories=[inner], continued_trajectory_ref="trajectory.cont-1.json")
    document["steps"][2]["observation"]["results"][0] = {
        "source_call_id": "call_1",
        "subagent_trajectory_ref": [{"trajectory_id": "helper"}],
    }
    session = clean("atif", document)
    assert [(b.session_id, b.parent_session) for b in session.branches] == [("run-1", None), ("helper", "run-1")]
    assert len({branch.trajectory_id for branch in session.branches}) == 2
    assert "tool<call_1>: [sub-agent helper]" in said(session)
    assert "continued_elsewhere" in rules(session)


def test_results_without_a_call_are_context_or_answer_the_only_call() -> None:
    document = atif()
    results = document["steps"][2]["observation"]["results"]
    results[0].pop("source_call_id")
    assert "tool<call_1>: a.txt\nb.txt" in said(clean("atif", document))
    document["steps"][2]["tool_calls"] = None
    assert said(clean("atif", document))[2:4] == ["assistant: I look.", "user: a.txt\nb.txt"]


def test_secrets_errors_and_unanswered_calls_are_found_in_documents_too() -> None:
    document = atif()
    document["steps"][2]["observation"] = {
        "results": [{"source_call_id": "call_1", "content": "no such file", "extra": {"exit_code": 2}}]
    }
    session = clean("atif", document)
    result = session.branches[0].steps[3]
    assert (result.is_error, result.error_source, result.exit_code) == (True, "exit_code", 2)
    document["steps"][2].pop("observation")
    assert "unanswered_call" in rules(clean("atif", document))


# --- chat messages ------------------------------------------------------------------------------------------------


def test_a_row_of_messages_is_a_session() -> None:
    session = clean("chat.messages", chat("What is in my notes?", "Three points.", tools=[BASH], id="row-7"))
    (branch,) = session.branches
    assert said(session) == [
        "system: You are an agent.",
        "user: What is in my notes?",
        "assistant:  ['c1']",
        "tool<c1>: three points",
        "assistant: Three points.",
    ]
    assert (branch.session_id, branch.class_) == ("row-7", "normal")
    assert session.stated == {branch.trajectory_id: Stated([BASH])}
    assert [call.arguments for step in branch.steps for call in step.calls] == [{"path": "notes.md"}]
    assert not rules(session)  # a format without times is not blamed for having none


def test_results_without_ids_answer_calls_in_order() -> None:
    row = chat("Go.", "Done.")
    call = row["messages"][2]["tool_calls"][0]
    row["messages"][2]["tool_calls"] = [{"function": call["function"]}, {"function": call["function"]}]
    row["messages"][3] = {"role": "tool", "content": "one"}
    row["messages"].insert(4, {"role": "tool", "content": "two"})
    session = clean("chat.messages", row)
    calls = session.branches[0].steps[2].calls
    assert [call.result.text for call in calls if call.result] == ["one", "two"]
    assert "tool_call_id_synthesized" in rules(session)


def test_older_function_calls_and_reasoning_are_read() -> None:
    row = {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": "", "reasoning_content": "hm",
             "function_call": {"name": "read", "arguments": '{"path": "a"}'}},
            {"role": "function", "name": "read", "content": "text"},
            {"role": "assistant", "content": "done", "finish_reason": "stop"},
        ]
    }  # fmt: skip
    session = clean("chat.messages", row)
    answer = session.branches[0].steps[1]
    assert answer.thinking == "hm" and answer.calls[0].result is not None and answer.calls[0].result.text == "text"


def test_the_same_conversation_again_is_trained_once_and_a_longer_one_for_what_is_new() -> None:
    session = clean(
        "chat.messages",
        chat("Go.", "One."),
        chat("Go.", "One."),
        chat("Go.", "One.", "And then?", "Two."),
        chat("Go.", "Another."),
    )
    mark_copies(session)
    assert [branch.class_ for branch in session.branches] == ["normal", "copy", "normal", "normal"]
    fresh = [[s.text for s in b.steps if s.role == "assistant" and not s.context] for b in session.branches]
    assert fresh == [["", "One."], [], ["Two."], ["Another."]]  # the tool call of the last one was made before as well


def test_rows_that_hold_no_conversation_are_quarantined_and_stated() -> None:
    session = clean("chat.messages", chat("Go.", "One."), b'{"messages": []}', b'{"mess', b"", b"[1]", b'{"a": 1}')
    assert session.ledger == {
        ("kept", "conversation"): 1,
        ("quarantined", "no_conversation"): 2,
        ("quarantined", "bad_json"): 1,
        ("quarantined", "not_object"): 1,
        ("dropped", "blank_line"): 1,
    }


# --- cold archives ------------------------------------------------------------------------------------------------


def archive(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [{"kind": "header", "version": 1, "sessionId": "s", "generation": "g"}]
    lines += [
        {"kind": "event", "row": {"seq": number, "event_json": json.dumps(record), "created_at": 0}}
        for number, record in enumerate(records)
    ]
    return [*lines, {"kind": "identity", "row": {"event_id": "a", "seq": 1}}, {"kind": "surprise"}]


def test_a_cold_archive_is_its_transcript_and_metadata() -> None:
    session = clean(
        "openclaw.cold",
        *archive(
            [
                {"type": "session", "version": 4, "id": "s"},
                {"type": "message", "id": "a", "message": {"role": "user", "content": "hi"}},
                {"type": "message", "id": "b", "parentId": "a", "message": {"role": "assistant", "content": "hello"}},
            ]
        ),
    )
    assert said(session) == ["user: hi", "assistant: hello"]
    assert session.ledger == {
        ("kept", "header"): 1, ("kept", "step"): 2, ("kept", "metadata"): 2, ("quarantined", "unknown_record_type"): 1,
    }  # fmt: skip


# --- anything -----------------------------------------------------------------------------------------------------

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
_CASES: dict[str, list[dict[str, Any]]] = {
    "atif": [atif("1.8", subagent_trajectories=[atif(trajectory_id="helper")])],
    "chat.messages": [chat("Go.", "One.", "More.", "Two.", tools=[BASH])],
    "openclaw.cold": archive([{"type": "session", "id": "s"}, {"type": "message", "message": {"role": "user"}}]),
}


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in _places(item, (*path, key)))]


def _put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _put(copy[path[0]], path[1:], new)
    return copy


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(sorted(_CASES)), st.data())
def test_a_document_with_any_value_anywhere_loses_no_record(kind: str, data: st.DataObject) -> None:
    documents = list(_CASES[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(documents) - 1))
        places = [place for place in _places(documents[number]) if place]
        if places:
            place = data.draw(st.sampled_from(places))
            documents[number] = _put(documents[number], place, data.draw(_VALUES))
    session = clean(kind, *documents)
    mark_copies(session)
    assert all(rule != "unplaced" for _, rule in session.ledger)
    for branch in session.branches:
        for _, message in linear(branch.steps, None):
            json.dumps(message).encode()


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(_CASES)), st.integers(0, 3_000), st.binary(max_size=6), st.integers(0, 60))
def test_a_document_with_any_bytes_anywhere_loses_no_record(kind: str, at: int, put: bytes, cut: int) -> None:
    raws = [json.dumps(document).encode() for document in _CASES[kind]]
    number = at % len(raws)
    at %= len(raws[number])
    raws[number] = (raws[number][:at] + put + raws[number][at + cut :]).replace(b"\n", b"")
    clean(kind, *raws)
