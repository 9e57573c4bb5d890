"""The shape of a cleaning rule and the registry of all of them: the source of the docs page and of `cleaning_rules`.

Belongs here: name, version, meaning, default action and severity. Does not belong here: what a rule does (it stands in
the module that declares it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Action = Literal["kept", "dropped", "repaired", "moved", "masked", "quarantined", "noted"]
Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True)
class Rule:
    """One named, versioned cleaning rule."""

    name: str
    version: int
    """Raised whenever the rule would treat the same record otherwise."""
    action: Action
    severity: Severity
    meaning: str
    """One line."""

    @property
    def label(self) -> str:
        """`name@version`, as trajectories list it."""
        return f"{self.name}@{self.version}"


RULES: Final[dict[str, Rule]] = {}
"""Every rule by name, filled as the modules of this package are imported."""


def rule(name: str, action: Action, meaning: str, *, severity: Severity = "info", version: int = 1) -> Rule:
    """Declare a rule.

    Raises:
        ValueError: there is one of that name already.
    """
    if name in RULES:
        raise ValueError(f"rule {name!r} is declared twice; names are unique")
    RULES[name] = Rule(name, version, action, severity, meaning)
    return RULES[name]
