"""A transcript that begins later than its run: what the trajectory events still hold of the beginning is put before it.

Both are bounded windows, so such a session is never called complete: its class is `incomplete`. Does not belong here:
reading either (`clean`, `trace`).
"""

from __future__ import annotations

from assets.trajectories.clean import CleanSession
from assets.trajectories.findings import Place
from assets.trajectories.rules.structure import HEAD_GAP, RECOVERED_PROMPT
from assets.trajectories.steps import Step
from assets.trajectories.trace import Trace, TracePrompt
from assets.trajectories.wording import is_heartbeat, strip_user

_APART_S = 1.0
"""Times of one prompt in the two logs differ by less."""


def fill_head(session: CleanSession, trace: Trace) -> None:
    """Put the prompts that only the events know before the branches they belong to, and state the gap."""
    first = next((step for branch in session.branches[:1] for step in branch.steps if not step.context), None)
    if first is None:
        return
    missing = _missing(session, first, trace)
    if not missing:
        return
    known = [prompt.ts.isoformat() for prompt in missing if prompt.ts is not None]
    stated = first.ts.isoformat() if first.ts is not None else "unknown"
    session.findings.add(first.at, HEAD_GAP, f"transcript from {stated}, events from {known[0]}")
    session.findings.add(
        first.at, RECOVERED_PROMPT, f"{len(missing)} prompt{'s' * (len(missing) > 1)} from {missing[0].at.key[:16]}"
    )
    for branch in session.branches:
        if branch.steps and branch.steps[0].at.position == first.at.position:
            branch.steps[:0] = [_step(number, prompt) for number, prompt in enumerate(missing)]
            branch.class_ = "incomplete" if branch.class_ == "normal" else branch.class_


def _missing(session: CleanSession, first: Step, trace: Trace) -> list[TracePrompt]:
    """Prompts from before the first step that no branch holds."""
    if first.ts is None:
        return []
    said = {step.text.strip() for branch in session.branches for step in branch.steps if step.role == "user"}
    return [
        prompt
        for prompt in trace.prompts
        if prompt.ts is not None
        and (first.ts - prompt.ts).total_seconds() > _APART_S
        and strip_user(prompt.text)[0].strip() not in said
        and not is_heartbeat(prompt.text)
    ]


def _step(number: int, prompt: TracePrompt) -> Step:
    """A prompt as a step of its own, of the record in the trajectory events."""
    at = Place(-1 - number, 0, prompt.at.key)
    return Step(at, "user", strip_user(prompt.text)[0], ts=prompt.ts)
