"""The route a teacher means to take: the plan with its flaw, its slips and its skipped checks, as moves in order.

Belongs here: what is decided before the first answer. Does not belong here: reactions to results (`replay.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assets.rollouts.teacher.character import Character, Draws
from assets.tasks.plan import Flaw, Plan, Step

Kind = Literal["step", "slip", "check", "look", "malformed", "final"]


@dataclass(frozen=True)
class Move:
    """One answer of the teacher: a text and the calls made with it. No calls: the end of its turn."""

    kind: Kind
    say: str
    calls: tuple[Step, ...] = ()
    recovery: str = ""
    """For a slip: what is said with the right step after it."""

    @property
    def produces(self) -> bool:
        """Whether it makes the task's product (and may be redone)."""
        return self.kind == "step" and any(call.phase in ("write", "run") for call in self.calls)


def plan_route(plan: Plan, character: Character, draws: Draws) -> list[Move]:
    """The moves a teacher means to make, the closing message last."""
    steps = _with_flaw(plan.steps, _flaw(plan, character, draws))
    if draws.happens(character.skips_checks, "skips_checks"):
        steps = {index: step for index, step in steps.items() if step.phase != "check"}
    moves: list[Move] = []
    for index, step in steps.items():
        slips = [
            Move("slip", slip.step.say or step.say, (slip.step,), slip.recovery)
            for number, slip in enumerate(plan.slips)
            if slip.before == index and draws.happens(character.slips, "slip", number)
        ]
        joins = step.with_previous and not slips and bool(moves) and moves[-1].kind in ("step", "check")
        if joins and moves[-1].kind == ("check" if step.phase == "check" else "step"):
            last = moves[-1]
            moves[-1] = Move(last.kind, " ".join(filter(None, (last.say, step.say))), (*last.calls, step))
            continue
        moves += [*slips, Move("check" if step.phase == "check" else "step", step.say, (step,))]
    if moves and draws.happens(character.malformed, "malformed"):
        where = draws.choice(len(moves), "malformed", "where")
        moves[where] = Move("malformed", moves[where].say, moves[where].calls)
    return [*moves, Move("final", plan.closing)]


def _flaw(plan: Plan, character: Character, draws: Draws) -> Flaw | None:
    number = draws.number("flaw")
    loss = "large" if number < character.large_flaw else "small"
    if number >= character.large_flaw + character.small_flaw:
        return None
    # A plan without flaws of this size shows one of the other size: the teacher errs as often as its character says.
    flaws: Sequence[Flaw] = [f for f in plan.flaws if f.loss == loss] or plan.flaws
    return flaws[draws.choice(len(flaws), "flaw", "which")] if flaws else None


def _with_flaw(steps: Sequence[Step], flaw: Flaw | None) -> dict[int, Step]:
    kept = dict(enumerate(steps))
    if flaw is None:
        return kept
    return {i: flaw.replace.get(i, step) for i, step in kept.items() if i not in flaw.drop}
