"""The teacher as a policy: from a request to the events of its answer.

Belongs here: putting route, replay and stream together. Does not belong here: any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assets.rollouts.teacher.character import Character, Draws
from assets.rollouts.teacher.replay import Replay, turns
from assets.rollouts.teacher.route import Move, plan_route
from assets.rollouts.teacher.stream import answer
from assets.tasks.plan import Plan
from lake.ids import Json


class TeacherPolicy:
    """Answers the requests of one rollout; keeps no state between them."""

    def __init__(self, plan: Plan, character: Character, draws: Draws) -> None:
        self._route = plan_route(plan, character, draws)
        self._character, self._draws = character, draws

    def __call__(self, request: Mapping[str, Json], response_id: str) -> Iterable[bytes]:
        """The events of the answer to a chat completion request."""
        past = turns(request.get("messages") or ())
        if not request.get("tools"):
            # No tools: the harness asks for something beside the task, such as a summary of the conversation.
            return answer(
                Move("final", "Work on the task is under way; see the files."), request, response_id, len(past)
            )
        replay = Replay.start(self._route, self._character, self._draws)
        for turn in past:
            replay.observe(turn)
        return answer(replay.current, request, response_id, len(past))


def teacher_policy(plan: Plan, character: Character, *, seed: int, repeat: int, task: str) -> TeacherPolicy:
    """The teacher of one rollout.

    Args:
        task: task id and version; with seed, repeat and character it decides all draws.
    """
    return TeacherPolicy(plan, character, Draws(seed, repeat, task, character.name))
