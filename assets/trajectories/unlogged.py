"""An attempt without a transcript, put together from the proxy's log alone: the evidence of record.

The agent may die before it writes, or its database be unreadable; what the model was served and what it answered is
still there. Does not belong here: attempts with a transcript (`clean`).
"""

from __future__ import annotations

from assets.trajectories.clean import CleanBranch, CleanSession, SourceRef, no_recovery
from assets.trajectories.content import read_arguments
from assets.trajectories.findings import Findings, Place
from assets.trajectories.normal import text_of
from assets.trajectories.pairing import pair
from assets.trajectories.phases import classify
from assets.trajectories.served import Served, ServedCall
from assets.trajectories.steps import Step, StepCall
from assets.trajectories.wording import strip_user
from lake.ids import Json, digest


def session_of_calls(ref: SourceRef, served: Served) -> list[CleanSession]:
    """A session with one trajectory: the last request of the main conversation and its answer; none when there is none.

    The findings of its steps are the proxy records' own.
    """
    calls = [call for call in served.calls if call.messages and call.kind in ("main", "retry")]
    if not calls:
        return []
    last = calls[-1]
    findings = Findings()
    steps = [
        step
        for number in last.messages[: last.stable]
        if (step := _step(served.messages[number].value, last, number)) is not None
    ]
    if last.completion is not None and last.good:
        answer = _step(last.completion.message, last, len(served.messages))
        if answer is not None:
            answer.response_id, answer.stop_reason = last.response_id, last.finish_reason
            steps.append(answer)
    steps = pair(steps, findings, no_recovery)
    for step in steps:
        if any(call.result is None for call in step.calls):
            step.spoken = False
    ended = "normal" if steps and steps[-1].role == "assistant" and not steps[-1].calls else "aborted"
    branch = CleanBranch(
        trajectory_id=digest(ref.source_id, "calls"),
        branch=0,
        session_id=ref.session_id or ref.attempt_id or ref.source_id,
        parent_session=None,
        steps=steps,
        class_=ended if any(step.role == "assistant" for step in steps) else "empty",
        started_at=calls[0].started_at,
        ended_at=last.started_at,
        places=set(),
    )
    return [CleanSession(ref, [branch], findings)]


def _step(message: dict[str, Json], call: ServedCall, number: int) -> Step | None:
    role = message.get("role")
    at = Place(-1 - number, 0, call.at.key)
    text = text_of(message)
    if role == "user":
        return Step(at, "user", strip_user(text)[0] or text)
    if role == "tool":
        stated = message.get("tool_call_id")
        return Step(at, "tool", text, tool_call_id=str(stated) if stated else None, is_error=False)
    if role != "assistant":
        return None
    step = Step(at, "assistant", text)
    calls = message.get("tool_calls")
    for index, made in enumerate(calls if isinstance(calls, list) else ()):
        function = made.get("function") if isinstance(made, dict) else None
        if not isinstance(function, dict):
            continue
        name = str(function.get("name") or "unknown")
        arguments = read_arguments(at, function.get("arguments"), Findings())
        phase, target = classify(name, arguments, None)
        made_id = str(made.get("id") or f"call_{number}_{index}")
        step.calls.append(StepCall(made_id, made_id, name, arguments, phase, target))
    return step
