"""Tool calls and results of one branch: paired by id and position, each result right behind its call.

Nothing is invented: a call without a result stays unanswered; a result without a call is set aside.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from assets.trajectories.findings import Findings
from assets.trajectories.rules import pairing as rules
from assets.trajectories.steps import Step, StepCall
from assets.trajectories.wording import is_synthetic_result

Recover = Callable[[Step], Step | None]
"""Finds the missing assistant turn of a result whose call is nowhere."""


def pair(steps: list[Step], findings: Findings, recover: Recover) -> list[Step]:
    """Steps in order, every answered call followed by its results in call order.

    Args:
        steps: steps of one branch in the order of the log.
        findings: takes what was moved, repeated, orphaned, made up.
        recover: asked for the turn of an orphan before it is set aside.
    """
    open_calls: dict[str, list[StepCall]] = defaultdict(list)
    answered: dict[str, Step] = {}
    homeless: list[Step] = []
    turn: Step | None = None
    for step in steps:
        if step.role == "assistant":
            turn = step
            for call in step.calls:
                open_calls[call.stated_id].append(call)
        elif step.role == "tool" and not _synthetic(step, findings):
            found = _take(open_calls, step, turn)
            if found is None:
                homeless.append(step)
            else:
                _settle(found, step, turn, findings, answered)
    recovered = _house(homeless, open_calls, answered, findings, recover)
    return _laid_out(steps, recovered)


def _synthetic(step: Step, findings: Findings) -> bool:
    if is_synthetic_result(step.text):
        findings.drop(step.at, rules.SYNTHETIC, f"call {step.tool_call_id}"[:120])
        return True
    return False


def _take(open_calls: dict[str, list[StepCall]], step: Step, turn: Step | None) -> StepCall | None:
    """The open call a result answers: of the latest turn with that id, there the first."""
    waiting = open_calls.get(step.tool_call_id or "")
    if not waiting:
        return None
    if turn is not None and (len(waiting) > 1 or not _made_by(turn, waiting[0])):
        for number, call in enumerate(waiting):
            if _made_by(turn, call):
                return waiting.pop(number)
    return waiting.pop()


def _made_by(turn: Step, call: StepCall) -> bool:
    for mine in turn.calls:  # noqa: SIM110 - a generator for each result costs more than the rest of pairing
        if mine is call:
            return True
    return False


def _settle(call: StepCall, step: Step, turn: Step | None, findings: Findings, answered: dict[str, Step]) -> None:
    call.result = step
    answered[call.stated_id] = step
    if turn is None or not _made_by(turn, call):
        findings.add(step.at, rules.MOVED_RESULT, f"call {call.stated_id}"[:120])


def _house(
    homeless: list[Step],
    open_calls: dict[str, list[StepCall]],
    answered: dict[str, Step],
    findings: Findings,
    recover: Recover,
) -> dict[int, Step]:
    """Find a place for results that came before their call or whose call is missing.

    Returns:
        Recovered assistant turns by the position of the result they stand before.
    """
    recovered: dict[int, Step] = {}
    fresh: dict[str, list[StepCall]] = defaultdict(list)
    for step in homeless:
        waiting = open_calls.get(step.tool_call_id or "") or fresh.get(step.tool_call_id or "")
        if not waiting and (step.tool_call_id or "") not in answered:
            turn = recover(step)
            if turn is not None:
                recovered[step.at.position] = turn
                findings.add(step.at, rules.RECOVERED_CALL, f"from record {turn.at.key[:16]}")
                for call in turn.calls:
                    fresh[call.stated_id].append(call)
                waiting = fresh.get(step.tool_call_id or "")
                if waiting:
                    _settle(waiting.pop(0), step, turn, findings, answered)
                    continue
        if waiting:
            call = waiting.pop(0)
            fresh_turn = next((t for t in recovered.values() if any(call is mine for mine in t.calls)), None)
            _settle(call, step, fresh_turn, findings, answered)
            continue
        first = answered.get(step.tool_call_id or "")
        detail = f"call {step.tool_call_id}, tool {step.tool_name}"[:160]
        if step.context:
            continue  # its call was summarised away; it stands in an earlier trajectory
        if first is None:
            findings.quarantine(step.at, rules.ORPHAN, detail)
        elif first.text == step.text:
            findings.drop(step.at, rules.DUPLICATE_RESULT, detail)
        else:
            findings.quarantine(step.at, rules.EXTRA_RESULT, detail)
    return recovered


def _laid_out(steps: list[Step], recovered: dict[int, Step]) -> list[Step]:
    found: list[Step] = []
    for step in steps:
        if step.role == "tool":
            if step.at.position in recovered:
                found += _with_results(recovered[step.at.position])
        elif step.role == "assistant":
            found += _with_results(step)
        else:
            found.append(step)
    return found


def _with_results(turn: Step) -> list[Step]:
    results = [call.result for call in turn.calls if call.result is not None]
    for result in results:
        result.spoken = result.spoken and turn.spoken
        result.context = turn.context
    return [turn, *results]
