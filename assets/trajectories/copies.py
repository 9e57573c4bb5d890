"""History copied into another session: told by what was said and when, not by file; counted once.

Belongs here: which answers can be told apart, marking those that somebody held earlier. Does not belong here: who was
first (the index of the lake says so), copies inside one session (`turns`).
"""

from __future__ import annotations

from collections.abc import Mapping

from assets.trajectories.clean import CleanBranch, CleanSession
from assets.trajectories.linear import message_of
from assets.trajectories.normal import normal
from assets.trajectories.rules.structure import COPIED
from assets.trajectories.steps import Step
from lake.ids import digest


class Answers:
    """The answers of one cleaned session by identity, and who holds them.

    The holder is the source, or the trajectory in a document of many conversations: these are as far apart as those of
    two documents, and branches of one session are not.
    """

    def __init__(self, session: CleanSession) -> None:
        self._session = session
        self._held: dict[int, tuple[str, str]] = {}
        """(holder, identity) by id() of the step."""
        for branch in session.branches:
            if branch.class_ == "copy":
                continue  # the source itself says so
            for step in branch.steps:
                identity = _identity(step) if _is_answer(step) else None
                if identity is not None:
                    self._held[id(step)] = self._holder(branch, step), identity

    def _holder(self, branch: CleanBranch, step: Step) -> str:
        return self._session.ref.source_id if step.history is None else branch.trajectory_id

    def held(self) -> list[tuple[str, str]]:
        """(holder, identity) of each, once, in order."""
        return list(dict.fromkeys(self._held.values()))

    def mark(self, first: Mapping[str, str]) -> None:
        """Mark those that another one held first; a trajectory of nothing else gets the class `copy`.

        Args:
            first: the first holder of each identity.
        """
        for branch in self._session.branches:
            if branch.class_ == "copy":
                continue
            answers = [step for step in branch.steps if _is_answer(step)]
            for step in answers:
                holder, identity = self._held.get(id(step), ("", ""))
                if identity and first[identity] != holder:
                    self._mark(step, first[identity])
            if answers and all(step.context for step in answers):
                branch.class_ = "copy"

    def _mark(self, step: Step, first: str) -> None:
        step.context = True
        for call in step.calls:
            if call.result is not None:
                call.result.context = True
        what = "source" if step.history is None else "trajectory"
        self._session.findings.add(step.at, COPIED, f"{what} {first[:16]}")


def _is_answer(step: Step) -> bool:
    return step.role == "assistant" and not step.context


def _identity(step: Step) -> str | None:
    """What makes an answer the same in two files: text and calls, and response id or time, else all before it.

    None where nothing tells it from the same words said another time.
    """
    if step.response_id is None and step.ts is None:
        return None if step.history is None else digest("history", step.history, length=32)
    time = step.ts.isoformat() if step.response_id is None and step.ts is not None else None
    return digest(step.response_id, time, normal(message_of(step)), length=32)
