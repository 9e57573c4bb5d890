"""History copied into another session: told by what was said and when, not by file; counted once.

Belongs here: marking copied turns over a whole corpus. Does not belong here: copies inside one session (`turns`).
"""

from __future__ import annotations

from assets.trajectories.clean import CleanSession
from assets.trajectories.linear import message_of
from assets.trajectories.normal import normal
from assets.trajectories.rules.structure import COPIED
from assets.trajectories.steps import Step


class Copies:
    """Answers seen so far, by the session that had them first."""

    def __init__(self) -> None:
        self._first: dict[tuple[object, ...], str] = {}

    def mark(self, session: CleanSession) -> None:
        """Mark turns that an earlier source holds already; a trajectory of nothing else gets the class `copy`."""
        source = session.ref.source_id
        for branch in session.branches:
            if branch.class_ == "copy":
                continue  # the source itself says so
            answers = [step for step in branch.steps if step.role == "assistant" and not step.context]
            for step in answers:
                if step.response_id is None and step.ts is None and step.history is None:
                    continue  # nothing tells it from the same words said another time
                # conversations of one document are as far apart as those of two; branches of one session are not
                owner = source if step.history is None else branch.trajectory_id
                first = self._first.setdefault(_identity(step), owner)
                if first != owner:
                    step.context = True
                    for call in step.calls:
                        if call.result is not None:
                            call.result.context = True
                    what = "source" if step.history is None else "trajectory"
                    session.findings.add(step.at, COPIED, f"{what} {first[:16]}")
            if answers and all(step.context for step in answers):
                branch.class_ = "copy"


def _identity(step: Step) -> tuple[object, ...]:
    """What makes an answer the same in two files: text and calls, and response id or time, else all before it."""
    if step.response_id is None and step.ts is None:
        return (step.history,)
    return step.response_id, step.ts if step.response_id is None else None, normal(message_of(step))
