"""Which ending a run's remains mean. The envelopes are what OpenClaw 2026.9.6 wrote in such runs, shortened."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assets.rollouts.openclaw.outcome import Ending, Remains, ending_of
from assets.rollouts.openclaw.state import Session
from assets.rollouts.proxy.answer import Answer
from assets.rollouts.proxy.record import Call

OK: dict[str, Any] = {
    "ok": True,
    "status": "ok",
    "final": "Done.",
    "assistantTurns": 3,
    "toolSummary": {"calls": 2, "tools": ["exec"], "failures": 0},
}


def error(kind: str, message: str, status: str = "error") -> dict[str, Any]:
    return {"ok": False, "status": status, "final": "", "error": {"message": message, "kind": kind}}


def remains(envelope: dict[str, Any] | None, exit_code: int | None = 0, **more: Any) -> Remains:
    stdout = "" if envelope is None else json.dumps(envelope, indent=2)
    given: dict[str, Any] = {
        "stderr": "some line\nlast words\n",
        "session": Session("s", "stop", "Done."),
        "time_limit_s": 60.0,
        **more,
    }
    return Remains(exit_code=exit_code, stdout=stdout, **given)


def call(error_text: str | None = None, status: int | None = 200) -> Call:
    return Call("a/0.0", "a", 0, 0, "p", "u", b"{}", status=status, error=error_text)


def answer(arguments: str = "{}", text: str = "") -> Answer:
    calls = {0: {"id": "x", "name": "exec", "arguments": arguments}} if not text else {}
    return Answer("c", text, calls, done=True)


CASES: list[tuple[str, Remains, str]] = [
    ("ok", remains(OK), "finished"),
    (
        "unresolved error",
        remains({**OK, "toolSummary": {"calls": 1, "unresolvedError": {"toolName": "read"}}}),
        "gave_up",
    ),
    ("silence", remains({**OK, "final": " "}), "gave_up"),
    ("cut answer", remains(OK, session=Session("s", "length")), "token_limit"),
    ("overflow", remains(error("context_overflow", "400 maximum context"), 1), "token_limit"),
    (
        "malformed call",
        remains(
            error("incomplete_turn", "Provider returned an incomplete or malformed tool call"),
            1,
            last_answer=answer('{"command"'),
        ),
        "malformed_call",
    ),
    (
        "call as text",
        remains(error("fallback_exhausted", "no response"), 1, last_answer=answer(text="<tool_call>{}</tool_call>")),
        "malformed_call",
    ),
    ("empty answer", remains(error("fallback_exhausted", "no response"), 1, last_answer=answer(text=" ")), "gave_up"),
    (
        "loop",
        remains(error("incomplete_turn", "tool-loop recovery encountered another critical loop"), 1),
        "gave_up",
    ),
    ("own deadline", remains(error("timeout", "Request timed out", "timeout"), 2), "time_limit"),
    (
        "deadline inside a tool",
        remains(error("error_payload", "Exec failed"), 1, session=Session("s", "toolUse", "", {"timedOut": True})),
        "time_limit",
    ),
    (
        "silent endpoint",
        remains(error("timeout", "Request timed out", "timeout"), 2, silent_s=45.0),
        "model_endpoint",
    ),
    (
        "refused",
        remains(error("exception", "LLM request failed"), 1, last_call=call("HTTP 400", 400)),
        "model_endpoint",
    ),
    ("stopped by the cap", remains(None, None, stopped=("turn_limit", "cap of 3")), "turn_limit"),
    ("stopped by the clock", remains(None, None, stopped=("time_limit", "60 s")), "time_limit"),
    (
        "stopped by the clock in silence",
        remains(None, None, stopped=("time_limit", "60 s"), silent_s=31.0),
        "model_endpoint",
    ),
    ("dead endpoint", remains(None, None, stopped=("model_endpoint", "refused")), "model_endpoint"),
    ("crash", remains(None, 134), "harness_crash"),
    ("exception of its own", remains(error("exception", "Cannot find module"), 1), "harness_crash"),
    ("half an envelope", Remains(0, '{"ok": tr', "", None), "harness_crash"),
    ("no sandbox for a command", remains(OK, failed_commands=2), "sandbox"),
    ("no sandbox", remains(None, None, sandbox_failed=True), "sandbox"),
]
INFRASTRUCTURE = {"model_endpoint", "harness_crash", "sandbox"}


@pytest.mark.parametrize(("given", "expected"), [pytest.param(g, e, id=name) for name, g, e in CASES])
def test_endings(given: Remains, expected: str) -> None:
    ending: Ending = ending_of(given)
    assert ending.ending == expected
    assert ending.kind == ("infrastructure" if expected in INFRASTRUCTURE else "agent")
    assert ending.detail and "\n" not in ending.detail


def test_a_crash_is_told_with_its_last_words() -> None:
    assert "last words" in ending_of(remains(None, 134)).detail
