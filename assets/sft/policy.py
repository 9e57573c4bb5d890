"""The filter policy as a fact in the log, so that the projection stays a pure function of it.

Belongs here: the policy and which one holds. Does not belong here: applying it (`filter.py`).

Each change is a stream of its own with one event, `sft.policy_set`, whose `caused_by` is the change before. That
chain, not a clock, says which one holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lake import Event
from lake.ids import Json, digest

EVENT: Final = "sft.policy_set"
STREAM: Final = "sft_policy"

RULES_VERSION: Final = 1
"""Raised whenever the same policy would keep other trajectories."""


@dataclass(frozen=True)
class Policy:
    """What the filter asks for. The defaults hold until the first policy is stated."""

    score_column: str = "score_code"
    threshold: float = 0.5

    @property
    def version(self) -> str:
        """Identity of the filter: the policy and the rules that apply it."""
        return digest(self.payload(), RULES_VERSION)

    def payload(self) -> dict[str, Json]:
        """The policy as an event's payload."""
        return {"score_column": self.score_column, "threshold": self.threshold}


def latest(events: Iterable[Event]) -> tuple[str | None, Policy]:
    """The policy that holds, and the event that stated it (None before the first).

    It is the end of the longest chain of `caused_by`; two that were stated at once on the same one before are told
    apart by event id, the same way every time.
    """
    found = {event.event_id: event for event in events}
    if not found:
        return None, Policy()
    depths: dict[str, int] = {}

    def depth(event_id: str) -> int:
        path: list[str] = []
        at: str | None = event_id
        while at in found and at not in depths:
            path.append(at)
            at = found[at].caused_by
        base = depths.get(at, 0) if at is not None else 0
        for steps, name in enumerate(reversed(path), 1):
            depths[name] = base + steps
        return depths[event_id]

    last = max(found, key=lambda event_id: (depth(event_id), event_id))
    payload = found[last].payload
    return last, Policy(str(payload["score_column"]), float(payload["threshold"]))
