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
            answers = [step for step in branch.steps if step.role == "assistant" and not step.context]
            for step in answers:
                if step.response_id is None and step.ts is None:
                    continue  # nothing tells it from the same words said another time
                first = self._first.setdefault(_identity(step), source)
                if first != source:
                    step.context = True
                    for call in step.calls:
                        if call.result is not None:
                            call.result.context = True
                    session.findings.add(step.at, COPIED, f"source {first[:16]}")
            if answers and all(step.context for step in answers):
                branch.class_ = "copy"


def _identity(step: Step) -> tuple[object, ...]:
    """What makes an answer the same in two files: its text and calls, and its response id or else its time."""
    return step.response_id, step.ts if step.response_id is None else None, normal(message_of(step))
