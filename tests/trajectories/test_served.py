"""Requests rebuilt byte for byte, their prefix tree, the transient suffix, and the join with the transcript."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assets.logs.decode import head
from assets.rollouts.proxy.record import Call, Decoder, Encoder
from assets.trajectories.clean import CleanSession, SourceRef, clean_session
from assets.trajectories.completion import read_completion
from assets.trajectories.entries import Row
from assets.trajectories.join import context_differs, join, recovery, state_unlogged
from assets.trajectories.served import Served, read_served
from assets.trajectories.trace import read_trace
from lake.ids import canonical
from tests.trajectories.attempts import SAMPLES, read_lines, write_proxy_log
from tests.trajectories.sessions import found


def rows(lines: list[bytes]) -> list[Row]:
    return [
        Row(f"k{number}", number * 10_000_000, line, head(line, first=False)[1]) for number, line in enumerate(lines)
    ]


def served_of(case: str, tmp_path: Path) -> Served:
    log = tmp_path / "proxy.jsonl"
    write_proxy_log(log, SAMPLES / case, "a1")
    return read_served(rows(log.read_bytes().rstrip(b"\n").split(b"\n")))


def session_of(case: str, served: Served | None) -> CleanSession:
    lines = (SAMPLES / case / "main.transcript.jsonl").read_bytes().rstrip(b"\n").split(b"\n")
    own = [Row(f"t{number}", number, line, "ok") for number, line in enumerate(lines)]
    return clean_session(SourceRef("f" * 64, 0, "openclaw.transcript", "s"), own, recovery(served, None, "/workspace"))


CASES = ("toolerr", "parallel", "reasoning", "image", "local_multiturn", "err500x2")


@pytest.mark.parametrize("case", CASES)
def test_requests_are_rebuilt_byte_for_byte(case: str, tmp_path: Path) -> None:
    log = tmp_path / "proxy.jsonl"
    write_proxy_log(log, SAMPLES / case, "a1")
    decoder = Decoder()
    rebuilt = [decoder.decode(record).request for record in read_lines(log)]
    sent = [record["body"] for record in read_lines(SAMPLES / case / "requests.jsonl")]
    assert rebuilt == [json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() for body in sent]
    assert log.stat().st_size < sum(map(len, rebuilt))
    served = read_served(rows(log.read_bytes().rstrip(b"\n").split(b"\n")))
    messages = [[served.messages[number].value for number in call.messages] for call in served.calls]
    assert messages == [body["messages"] for body in sent]


@pytest.mark.parametrize("case", ["toolerr", "parallel", "reasoning", "local_multiturn"])
def test_without_the_suffix_each_request_extends_the_one_before(case: str, tmp_path: Path) -> None:
    """0 of the consecutive requests extend the one before with it, all do without it."""
    served = served_of(case, tmp_path)
    assert all(len(call.messages) - call.stable == 1 for call in served.calls)
    for before, after in zip(served.calls, served.calls[1:], strict=False):
        assert after.messages[: len(before.messages)] != before.messages
        assert after.messages[: before.stable] == before.messages[: before.stable]
        assert (after.parent, after.shared, after.kind) == (before.number, before.stable, "main")
    suffixes = [f for f in served.findings.found.values() if f.rule.name == "transient_suffix"]
    assert len(suffixes) == len(served.calls)


@pytest.mark.parametrize("case", ["toolerr", "parallel", "reasoning", "image", "local_multiturn"])
def test_the_linear_context_is_the_one_served(case: str, tmp_path: Path) -> None:
    served = served_of(case, tmp_path)
    session = session_of(case, served)
    joined = join(session, served, by_order=True)
    state_unlogged(served, set(joined.made))
    assert sorted(joined.made) == [call.number for call in served.calls]
    assert context_differs(session.branches[0], served.system(), served, joined) == 0.0
    assert not {rule for rule, _ in found(session)} & {
        "turn_differs_from_proxy",
        "turn_not_in_proxy_log",
        "joined_by_order",
    }
    assert not [f for f in served.findings.found.values() if f.rule.name == "call_not_in_transcript"]


def test_a_context_that_was_served_otherwise_is_counted(tmp_path: Path) -> None:
    served = served_of("toolerr", tmp_path)
    session = session_of("toolerr", served)
    joined = join(session, served, by_order=True)
    session.branches[0].steps[2].text += " (edited)"  # in the context of every later turn: 6 of 7
    assert context_differs(session.branches[0], served.system(), served, joined) == pytest.approx(6 / 7)


def test_a_turn_the_transcript_lost_is_taken_from_the_models_answer(tmp_path: Path) -> None:
    """OpenClaw drops the assistant message that calls an unknown tool and keeps its result."""
    without = session_of("toolerr", None)
    assert ("orphan_result", 16) in found(without) or "orphan_result" in {rule for rule, _ in found(without)}
    served = served_of("toolerr", tmp_path)
    session = session_of("toolerr", served)
    assert "recovered_turn" in {rule for rule, _ in found(session)}
    (step,) = [s for s in session.branches[0].steps for call in s.calls if call.name == "nonexistent_tool"]
    assert step.at.key == "k4" and step.response_id == "chatcmpl-5"
    assert step.calls[0].result is not None and step.calls[0].result.text == "Tool nonexistent_tool not found"
    assert sum(session.ledger.values()) == len(read_lines(SAMPLES / "toolerr" / "main.transcript.jsonl"))


def test_without_a_proxy_log_the_lost_turn_comes_from_the_trajectory_events() -> None:
    trace = read_trace(rows((SAMPLES / "toolerr" / "main.trajectory.jsonl").read_bytes().rstrip(b"\n").split(b"\n")))
    lines = (SAMPLES / "toolerr" / "main.transcript.jsonl").read_bytes().rstrip(b"\n").split(b"\n")
    own = [Row(f"t{number}", number, line, "ok") for number, line in enumerate(lines)]
    ref = SourceRef("f" * 64, 0, "openclaw.transcript", "s")
    session = clean_session(ref, own, recovery(None, trace, None))
    names = [call.name for step in session.branches[0].steps for call in step.calls]
    assert names == ["read", "exec", "edit", "write", "nonexistent_tool", "read"]
    assert trace.harness == "openclaw 2026.9.6" and trace.system is not None and len(trace.tools or []) == 6
    assert (trace.tools or [])[0]["type"] == "function"


def test_a_retry_is_told_from_the_main_line(tmp_path: Path) -> None:
    served = served_of("err500x2", tmp_path)
    assert [(call.status, call.kind) for call in served.calls] == [(500, "main"), (500, "main"), (200, "retry")]


def test_a_damaged_record_is_set_aside_and_the_ledger_counts_it(tmp_path: Path) -> None:
    log = tmp_path / "proxy.jsonl"
    write_proxy_log(log, SAMPLES / "parallel", "a1")
    lines = log.read_bytes().rstrip(b"\n").split(b"\n")
    record = json.loads(lines[0])
    record["request"]["sha256"] = "0" * 64
    served = read_served(rows([canonical(record).encode(), *lines[1:], b"{"]))
    assert dict(served.findings.ledger()) == {
        ("quarantined", "bad_call_record"): 2, ("quarantined", "bad_json"): 1,
    }  # fmt: skip


def _encode(body: dict[str, Any], number: int, encoder: Encoder) -> bytes:
    call = Call(f"a/{number}", "a", number, 0, "p", "u", json.dumps(body).encode(), status=200)
    return canonical(encoder.encode(call)).encode()


def test_side_calls_compactions_and_sub_agents_have_their_kinds() -> None:
    system = {"role": "system", "content": "You are a personal assistant."}
    main = [system, {"role": "user", "content": "go"}]
    bodies: list[dict[str, Any]] = [
        {"messages": main, "tools": [{"type": "function"}]},
        {
            "messages": [
                {"role": "system", "content": "You name sessions."},
                {"role": "user", "content": "go, in 3 words"},
            ]
        },
        {"messages": [{"role": "system", "content": "You are a context summarization assistant."}, main[1]]},
        {"messages": [{**system, "content": "sub"}, {"role": "user", "content": "[Subagent Context] do x"}]},
        {"messages": [*main, {"role": "assistant", "content": "hi"}, {"role": "user", "content": "on"}], "tools": [{}]},
        {"messages": "nonsense"},
    ]
    encoder = Encoder()
    served = read_served(rows([_encode(body, number, encoder) for number, body in enumerate(bodies)]))
    assert [call.kind for call in served.calls] == ["main", "side", "compaction", "subagent", "main", "side"]
    assert [(call.parent, call.shared) for call in served.calls][4] == (0, 2)
    assert served.system() == "You are a personal assistant." and served.tools() == [{"type": "function"}]


def test_exact_tokens_of_a_server_that_gives_them_are_kept() -> None:
    first = {"index": 0, "delta": {"content": "a\u2028b"}, "token_ids": [3]}
    chunks = [
        {"id": "c", "prompt_token_ids": [1, 2], "choices": [first]},
        {
            "id": "c",
            "choices": [
                {"index": 0, "delta": {}, "token_ids": [4], "finish_reason": "stop",
                 "logprobs": {"content": [{"logprob": -0.5}, {"logprob": -0.25}]}},
            ],
        },
    ]  # fmt: skip
    body = b"".join(b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n" for chunk in chunks)
    made = read_completion(body + b"data: [DONE]\n\n")
    assert made is not None and made.text == "a\u2028b"
    assert (made.prompt_token_ids, made.completion_token_ids, made.logprobs) == ([1, 2], [3, 4], [-0.5, -0.25])
    assert read_completion(b'{"error": "no"}') is None
