"""From what a run left behind to its ending: which class, and what was seen, in one line.

Agent endings are the policy's doing and are graded; infrastructure endings are not and are tried again (DESIGN §4).
`gave_up` is the agent ending its turn without a result: with an unresolved tool error, with nothing said, or stopped
by OpenClaw for going round in circles. Does not belong here: looking anything up; all of it is given.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from assets.rollouts.openclaw.state import Session
from assets.rollouts.proxy.answer import Answer
from assets.rollouts.proxy.record import Call
from lake.ids import Json

AgentEnding = Literal[
    "finished", "gave_up", "turn_limit", "time_limit", "token_limit", "malformed_call", "workspace_limit"
]
InfrastructureEnding = Literal["model_endpoint", "spend_cap", "sandbox", "harness_crash", "lost"]
AGENT_ENDINGS: frozenset[str] = frozenset(AgentEnding.__args__)  # type: ignore[attr-defined]
SILENT_S = 30.0
"""A deadline passed while the endpoint had owed a first byte for this long (or half the time limit) is the endpoint's
doing. Seconds."""


@dataclass(frozen=True)
class Remains:
    """What is known after a run."""

    exit_code: int | None
    """Null when it was killed from outside."""
    stdout: str
    stderr: str
    session: Session | None
    stopped: tuple[AgentEnding | InfrastructureEnding, str] | None = None
    """Why it was ended from outside, if it was."""
    sandbox_failed: bool = False
    """Whether the sandbox never started the agent."""
    failed_commands: int = 0
    """How many of the agent's commands were not run because their own sandbox could not be made."""
    last_call: Call | None = None
    last_answer: Answer | None = None
    silent_s: float = 0.0
    """How long the endpoint owed a first byte when the run ended."""
    time_limit_s: float = 0.0


@dataclass(frozen=True)
class Ending:
    """How an attempt ended."""

    ending: AgentEnding | InfrastructureEnding
    detail: str

    @property
    def kind(self) -> Literal["agent", "infrastructure"]:
        """Whose doing it was."""
        return "agent" if self.ending in AGENT_ENDINGS else "infrastructure"


def ending_of(remains: Remains) -> Ending:
    """Classify a run."""
    if remains.failed_commands:
        return Ending("sandbox", f"the sandbox of {remains.failed_commands} of the agent's commands could not be made")
    if remains.stopped is not None:
        return _of_stop(remains, *remains.stopped)
    if remains.sandbox_failed:
        return Ending("sandbox", f"the sandbox did not start: {_last_line(remains.stderr)}")
    envelope = read_envelope(remains.stdout)
    if envelope is None:
        return Ending(
            "harness_crash", f"OpenClaw left no result, exit code {remains.exit_code}: {_last_line(remains.stderr)}"
        )
    if envelope.get("ok") and remains.exit_code == 0:
        return _of_ok(envelope, remains)
    return _of_error(envelope, remains)


def read_envelope(stdout: str) -> dict[str, Json] | None:
    """The JSON result on standard output; null when there is none."""
    start = stdout.find("{")
    try:
        value = json.loads(stdout[start:]) if start >= 0 else None
    except ValueError:
        return None
    return value if isinstance(value, dict) and "status" in value else None


def _of_stop(remains: Remains, ending: AgentEnding | InfrastructureEnding, detail: str) -> Ending:
    if ending == "time_limit" and remains.silent_s >= min(SILENT_S, remains.time_limit_s / 2):
        return Ending("model_endpoint", f"the endpoint had not answered for {remains.silent_s:.0f} s when {detail}")
    return Ending(ending, detail)


def _of_ok(envelope: dict[str, Json], remains: Remains) -> Ending:
    summary = envelope.get("toolSummary") or {}
    turns, calls = envelope.get("assistantTurns"), summary.get("calls", 0)
    if remains.session is not None and remains.session.stop_reason == "length":
        return Ending("token_limit", f"the last answer was cut at the model's output limit after {turns} turns")
    unresolved = summary.get("unresolvedError")
    if unresolved:
        tool = unresolved.get("toolName") if isinstance(unresolved, dict) else unresolved
        return Ending("gave_up", f"ended its turn with an unresolved error of {tool} after {turns} turns")
    if not str(envelope.get("final") or "").strip():
        return Ending("gave_up", f"ended its turn without a word after {turns} turns")
    return Ending("finished", f"{turns} turns, {calls} tool calls")


def _of_error(envelope: dict[str, Json], remains: Remains) -> Ending:
    error = envelope.get("error") or {}
    kind, message = str(error.get("kind")), " ".join(str(error.get("message") or envelope.get("status")).split())
    said = f"{message[:200]} ({kind}, exit code {remains.exit_code})"
    call, answer = remains.last_call, remains.last_answer
    if kind == "context_overflow":
        return Ending("token_limit", f"the conversation no longer fits the model: {said}")
    ended = remains.session.ended if remains.session is not None else None
    if kind == "timeout" or (isinstance(ended, dict) and ended.get("timedOut")):
        return _of_stop(remains, "time_limit", f"the time limit of {remains.time_limit_s:g} s passed")
    if call is not None and call.error is not None and not call.error.startswith("abandoned"):
        return Ending("model_endpoint", call.error)
    if answer is not None and (wrong := answer.malformed_call) is not None:
        return Ending("malformed_call", f"{wrong}; {said}")
    if kind == "fallback_exhausted" and answer is not None:
        if "<tool_call>" in answer.text or "</tool_call>" in answer.text:
            return Ending("malformed_call", f"a tool call written as text; {said}")
        return Ending("gave_up", f"nothing to say and nothing to do; {said}")
    if kind == "incomplete_turn":
        return Ending("gave_up", f"stopped by OpenClaw: {said}")
    return Ending("harness_crash", said)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "nothing on standard error"
