"""How good a teacher is: probabilities of slips, flaws and recoveries, and the draws from them.

Belongs here: characters and draws. Does not belong here: what follows from a draw (`route.py`, `replay.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from lake.ids import Json, canonical, sha256_hex


@dataclass(frozen=True)
class Character:
    """A teacher's habits; each number is a probability."""

    name: str
    slips: float
    """For each slip of the plan: that it happens."""
    repeats: float
    """After a slip failed: that it makes the same call again before anything else."""
    recovers: float
    """After a slip failed: that it then takes the right step; else it goes on without, or gives up."""
    gives_up: float
    """When it does not recover: that it stops there."""
    large_flaw: float
    small_flaw: float
    """That it takes a flaw of the plan; at most one."""
    skips_checks: float
    """That it leaves out all checks of its product."""
    malformed: float
    """That one of its calls has broken arguments."""
    patience: int
    """How often it tries a failed step again after looking around."""
    repairs: bool
    """Whether a failed check makes it redo its product, once."""


CHARACTERS = {
    c.name: c
    for c in (
        Character(
            "strong@1", slips=0.5, repeats=0.0, recovers=1.0, gives_up=0.0, large_flaw=0.0, small_flaw=0.0,
            skips_checks=0.0, malformed=0.0, patience=2, repairs=True,
        ),
        Character(
            "medium@1", slips=0.6, repeats=0.3, recovers=0.9, gives_up=0.2, large_flaw=0.15, small_flaw=0.35,
            skips_checks=0.4, malformed=0.0, patience=1, repairs=True,
        ),
        Character(
            "weak@1", slips=0.8, repeats=0.7, recovers=0.5, gives_up=0.5, large_flaw=0.6, small_flaw=0.3,
            skips_checks=0.8, malformed=0.08, patience=0, repairs=False,
        ),
    )
}  # fmt: skip
"""The characters there are, by name and version. A change of numbers is a new version."""


@dataclass(frozen=True)
class Draws:
    """The draws of one rollout: a named number each, the same whenever it is asked for."""

    seed: int
    repeat: int
    task: str
    policy: str

    def number(self, *name: Json) -> float:
        """In [0, 1), from the sha256 of (seed, repeat, task, policy, name)."""
        digest = sha256_hex(canonical([self.seed, self.repeat, self.task, self.policy, *name]))
        return int(digest[:13], 16) / 16**13

    def happens(self, probability: float, *name: Json) -> bool:
        """Whether something of this probability happens."""
        return self.number(*name) < probability

    def choice(self, count: int, *name: Json) -> int:
        """One of `count` positions."""
        return int(self.number(*name) * count)
