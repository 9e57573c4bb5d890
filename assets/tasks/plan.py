"""What a scripted teacher follows: the reference route through a task, with slips and flaws it may show.

Belongs here: the plan as data and its JSON form. Does not belong here: the teacher itself (`assets/rollouts/teacher/`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Phase = Literal["explore", "read", "write", "edit", "run", "check"]


@dataclass(frozen=True)
class Step:
    """One tool call of OpenClaw: read{path}, write{path, content}, edit{path, edits}, exec{command}."""

    tool: Literal["read", "write", "edit", "exec"]
    arguments: dict[str, Any]
    phase: Phase
    say: str = ""
    """Text in the same message, before the call."""
    with_previous: bool = False
    """Made in the same message as the step before (parallel calls)."""


@dataclass(frozen=True)
class Slip:
    """A mistake on the way that shows as a tool error, such as a wrong path; a good teacher recovers."""

    before: int
    """Index of the step before which it happens."""
    step: Step
    recovery: str
    """What a recovering teacher says next."""


@dataclass(frozen=True)
class Flaw:
    """A way to end up with wrong products: steps replaced or left out. No tool error need show."""

    name: str
    replace: dict[int, Step] = field(default_factory=dict)
    drop: tuple[int, ...] = ()
    loss: Literal["small", "large"] = "large"
    """Whether most checks still pass (small) or not (large)."""


@dataclass(frozen=True)
class Plan:
    """Following `steps` in order produces exactly the oracle's outputs."""

    steps: tuple[Step, ...]
    slips: tuple[Slip, ...]
    flaws: tuple[Flaw, ...]
    closing: str
    """Final message of a teacher that did everything."""

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> Plan:
        """Back from `to_json` (JSON turns the keys of `replace` into strings; they become ints again)."""
        return Plan(
            steps=tuple(Step(**step) for step in value["steps"]),
            slips=tuple(
                Slip(before=s["before"], step=Step(**s["step"]), recovery=s["recovery"]) for s in value["slips"]
            ),
            flaws=tuple(
                Flaw(
                    name=f["name"],
                    replace={int(k): Step(**v) for k, v in f["replace"].items()},
                    drop=tuple(f["drop"]),
                    loss=f["loss"],
                )
                for f in value["flaws"]
            ),
            closing=value["closing"],
        )
