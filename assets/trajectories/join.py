"""Transcript and proxy log of one attempt, joined: which call made which turn, and whether it was served that context.

By response id; a turn without one takes the next call that says the same. Disagreement is a finding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

from assets.trajectories.clean import CleanBranch, CleanSession
from assets.trajectories.content import read_arguments
from assets.trajectories.findings import Findings, Place
from assets.trajectories.linear import linear, message_of
from assets.trajectories.normal import Normal, normal
from assets.trajectories.pairing import Recover
from assets.trajectories.phases import classify
from assets.trajectories.rules import served as rules
from assets.trajectories.served import Served, ServedCall
from assets.trajectories.steps import Step, StepCall
from assets.trajectories.trace import Trace

_STOPS: Final = {"tool_calls": "toolUse", "stop": "stop", "length": "length"}
_ODD: Final = re.compile(r"[^A-Za-z0-9]")


@dataclass
class Joined:
    """Calls of an attempt by the turn they made."""

    made: dict[int, tuple[CleanBranch, Step]] = field(default_factory=dict)
    """Call number to the trajectory and step it made."""
    by_step: dict[int, ServedCall] = field(default_factory=dict)
    """id() of a step to its call."""


def join(session: CleanSession, served: Served, *, by_order: bool) -> Joined:
    """Join the turns of a session with the calls of its attempt.

    Args:
        session: cleaned; its assistant steps get `proxy_key`.
        served: the attempt's calls.
        by_order: whether turns without a response id may be joined by their place (the attempt has one session).
    """
    joined = Joined()
    by_response = {call.response_id: call for call in served.calls if call.response_id and call.completion}
    turns = [
        (branch, step)
        for branch in session.branches
        for step in branch.steps
        if step.role == "assistant" and not step.context
    ]
    left = [call for call in served.calls if call.completion is not None and call.response_id]
    for branch, step in turns:
        call = by_response.get(step.response_id or "")
        if call is None and step.response_id is None and by_order:
            call = _next_alike(step, left, joined)
            if call is not None:
                session.findings.add(step.at, rules.JOINED_BY_ORDER, call.record_id)
        if call is None:
            session.findings.add(step.at, rules.TURN_NOT_SERVED, f"response {step.response_id}"[:120])
            continue
        step.proxy_key = call.at.key
        joined.made.setdefault(call.number, (branch, step))
        joined.by_step[id(step)] = call
        if step.at.position >= 0 and _made(call) != normal(message_of(step)):
            session.findings.add(step.at, rules.TEXT_DIFFERS, call.record_id)
    return joined


def _next_alike(step: Step, calls: list[ServedCall], joined: Joined) -> ServedCall | None:
    wanted = normal(message_of(step))
    return next((call for call in calls if call.number not in joined.made and _made(call) == wanted), None)


def _made(call: ServedCall) -> Normal | None:
    return None if call.completion is None else normal(call.completion.message)


def state_unlogged(served: Served, made: set[int]) -> None:
    """State the answers that were delivered and stand in no transcript."""
    for call in served.calls:
        if call.good and call.delivered and call.kind in ("main", "retry") and call.number not in made:
            served.findings.add(call.at, rules.CALL_NOT_LOGGED, f"response {call.response_id}"[:120])


def context_differs(branch: CleanBranch, system: str | None, served: Served, joined: Joined) -> float | None:
    """Share of a trajectory's assistant turns that were served another context than the linear one before them.

    None when none of its turns could be joined with a call.
    """
    numbers: dict[Normal, int] = {}
    contexts = [_number(m.normal, numbers) for m in served.messages]
    before: list[int] = []
    different = turns = 0
    for step, message in linear(branch.steps, system):
        call = joined.by_step.get(id(step)) if step is not None and not step.context else None
        if call is not None:
            turns += 1
            context = [n for n in (contexts[i] for i in call.messages[: call.stable]) if n is not None]
            different += context != before
        number = _number(normal(message), numbers)
        if number is not None:
            before.append(number)
    return different / turns if turns else None


def _number(value: Normal | None, numbers: dict[Normal, int]) -> int | None:
    return None if value is None else numbers.setdefault(value, len(numbers))


def recovery(served: Served | None, trace: Trace | None, cwd: str | None) -> Recover:
    """Finds the turn of an orphaned result: in the proxy's log, else in the trajectory events."""
    by_call: dict[str, ServedCall] = {}
    for call in served.calls if served is not None else ():
        for made in call.completion.calls.values() if call.completion is not None else ():
            by_call.setdefault(made["id"], call)
            by_call.setdefault(_ODD.sub("", made["id"]), call)
    turns: dict[str, Step] = {}

    def recover(result: Step) -> Step | None:
        wanted = result.tool_call_id or ""
        call = by_call.get(wanted) or by_call.get(_ODD.sub("", wanted))
        if call is not None:
            return _copy(turns.setdefault(call.record_id, _from_call(call, len(turns), cwd)))
        traced = trace.calls.get(wanted) if trace is not None else None
        if traced is None:
            return None
        step = Step(Place(-1 - len(turns), 0, traced.at.key), "assistant", ts=traced.ts)
        phase, target = classify(traced.name, traced.arguments, cwd)
        step.calls = [StepCall(wanted, wanted, traced.name, traced.arguments, phase, target)]
        return _copy(turns.setdefault(wanted, step))

    return recover


def _from_call(call: ServedCall, number: int, cwd: str | None) -> Step:
    completion = call.completion
    step = Step(Place(-1 - number, 0, call.at.key), "assistant", ts=call.started_at)
    if completion is None:
        return step
    step.text, step.thinking = completion.text, completion.thinking
    step.response_id = call.response_id
    step.stop_reason = _STOPS.get(completion.finish_reason or "", completion.finish_reason)
    for index, (_, made) in enumerate(sorted(completion.calls.items())):
        arguments = read_arguments(call.at, made["arguments"], Findings())
        phase, target = classify(made["name"], arguments, cwd)
        made_id = made["id"] or f"call_{call.number}_{index}"
        step.calls.append(StepCall(made_id, made_id, made["name"] or "unknown", arguments, phase, target))
    return step


def _copy(step: Step) -> Step:
    """A fresh step, so that each branch pairs its own calls."""
    fresh = replace(step)
    fresh.calls = [replace(call, result=None) for call in step.calls]
    return fresh
