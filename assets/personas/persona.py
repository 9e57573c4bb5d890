"""A persona: who a task is written for.

Belongs here: the record and its identity. Does not belong here: how personas are made (`builtin.py`) or which task
takes which (`assets/tasks/choice.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lake.ids import digest


@dataclass(frozen=True)
class Persona:
    """A user profile in one or two sentences, with the parts instructions need."""

    text: str
    name: str
    occupation: str
    domain: str
    origin: str
    licence: str

    @property
    def persona_id(self) -> str:
        """Digest of the text and the origin, 20 hex digits."""
        return digest(self.text, self.origin)

    def to_payload(self) -> dict[str, str]:
        """As the payload of `persona.created`."""
        return {"persona_id": self.persona_id, **asdict(self)}

    @staticmethod
    def from_row(row: Mapping[str, Any]) -> Persona:
        """From a row of `personas` (or a payload)."""
        return Persona(row["text"], row["name"], row["occupation"], row["domain"], row["origin"], row["licence"])
