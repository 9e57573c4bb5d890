"""What cleaning found and where every record went: the material of `diagnostics` and `ledger`.

Belongs here: collecting. Does not belong here: deciding (rules do), tables (`projection`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from assets.trajectories.rules.registry import Action, Rule

Fate = tuple[str, str]
"""(disposition, rule): kept with what it became, dropped or quarantined with the rule."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding on one record."""

    position: int
    line: int
    key: str
    rule: Rule
    action: Action
    detail: str


class Findings:
    """Findings and fates of one source version."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, str, str], Finding] = {}
        self._fates: dict[int, Fate] = {}

    def add(self, at: Place, rule: Rule, detail: str = "", action: Action | None = None) -> None:
        """State a finding on a record; the same one again is one. Recovered turns are stated where they were missed."""
        if at.position < 0:
            return
        key = (at.position, rule.name, detail)
        if key not in self.found:
            self.found[key] = Finding(at.position, at.line, at.key, rule, action or rule.action, detail)

    def has(self, at: Place, rule: Rule) -> bool:
        """Whether a rule found something on a record."""
        return any(position == at.position and name == rule.name for position, name, _ in self.found)

    def keep(self, at: Place, became: str) -> None:
        """The record is kept, in some branch at least; that wins over any other fate."""
        if at.position < 0:
            return
        self._fates[at.position] = ("kept", became)

    def drop(self, at: Place, rule: Rule, detail: str = "") -> None:
        """The record is left out by a rule, unless a branch keeps it."""
        self._fates.setdefault(at.position, ("dropped", rule.name))
        self.add(at, rule, detail, "dropped")

    def quarantine(self, at: Place, rule: Rule, detail: str = "") -> None:
        """The record cannot be used, unless a branch keeps it."""
        self._fates.setdefault(at.position, ("quarantined", rule.name))
        self.add(at, rule, detail, "quarantined")

    def fate(self, position: int) -> Fate | None:
        """Where a record went so far."""
        return self._fates.get(position)

    def ledger(self) -> Counter[Fate]:
        """Records by fate."""
        return Counter(self._fates.values())


@dataclass(slots=True)
class Place:
    """Where a record stands."""

    position: int
    """Below 0 for what was recovered from another source."""
    line: int
    """1-based number in its source."""
    key: str
    """record_key"""
