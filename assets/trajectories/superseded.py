"""Versions of a source that was rewritten since: what only they hold of the conversation is kept, once.

OpenClaw rewrites transcripts (repair, compaction, retries), so an answer the model gave and was paid for may stand in
no later version. Does not belong here: which version stands (`sources`), copies in other sources (`copies`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assets.trajectories.clean import CleanSession
from assets.trajectories.linear import message_of
from assets.trajectories.normal import Normal, normal
from assets.trajectories.rules.structure import ONLY_HERE
from assets.trajectories.steps import Step
from lake.ids import digest


def only_here(session: CleanSession, standing: Iterable[CleanSession]) -> CleanSession | None:
    """What of a superseded version no standing one holds.

    The versions are of one session, so the same words are the same answer, whatever time a rewriting gave it, the same
    time is the same answer, whatever words a repair left of it, and an answer that was cut is the whole one.

    Args:
        session: the superseded version, cleaned; its answers that stand elsewhere become context.
        standing: the versions kept of the session's sources.

    Returns:
        The session with only those branches that have answers of their own; None when there are none.
    """
    known = [step for kept in standing for step in _answers(kept)]
    said = {_said(step) for step in known}
    responses = {step.response_id for step in known if step.response_id}
    times = {step.ts for step in known if step.ts is not None}
    texts = "\x00".join(step.text for step in known)
    for step in _answers(session):
        cut = not step.calls and step.text and step.text in texts
        if step.response_id in responses or step.ts in times or cut or _said(step) in said:
            step.context = True
            for call in step.calls:
                if call.result is not None:
                    call.result.context = True
    session.branches = [branch for branch in session.branches if any(_own(branch.steps))]
    if not session.branches:
        return None
    for number, branch in enumerate(session.branches):
        branch.branch = number
        branch.trajectory_id = digest(branch.trajectory_id, session.ref.version)
        for step in _own(branch.steps):
            session.findings.add(step.at, ONLY_HERE, f"version {session.ref.version}")
    return session


def _answers(session: CleanSession) -> Iterator[Step]:
    for branch in session.branches:
        yield from (step for step in branch.steps if step.role == "assistant")


def _own(steps: Iterable[Step]) -> Iterator[Step]:
    return (step for step in steps if step.role == "assistant" and not step.context)


def _said(step: Step) -> Normal | None:
    message = message_of(step)
    message.pop("weight", None)
    return normal(message)
