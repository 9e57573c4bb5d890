"""A question to a model and its fingerprint: the same question is never paid for twice.

Belongs here: what a question consists of. Does not belong here: sending it (`wire.py`), the texts of questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from pydantic import BaseModel

from lake.ids import Json, digest

Role = Literal["generator", "annotator", "reviewer", "judge"]
ROLES: Final[tuple[Role, ...]] = ("generator", "annotator", "reviewer", "judge")

T = TypeVar("T", bound=BaseModel)

Message = Mapping[str, str]
"""`role` and `content`."""


@dataclass(frozen=True)
class Question(Generic[T]):
    """One question whose answer is bound to a schema."""

    role: Role
    step: str
    """What it is for, e.g. `task_draft`; with `version` it names the wording."""
    version: str
    """Raised when the wording changes."""
    system: str
    user: str
    schema: type[T]
    sample: int = 0
    """Asked again as another sample, it is another question."""
    subject: str = ""
    """What the answer belongs to; for people, no part of the fingerprint."""


@dataclass(frozen=True)
class Asked:
    """A question as one request: what its fingerprint is made of."""

    role: Role
    model: str
    parameters: Mapping[str, Json]
    """Request fields beside model, messages and the binding to the schema."""
    messages: Sequence[Message]
    schema_name: str
    schema: Mapping[str, Json]
    step: str
    version: str
    sample: int
    subject: str

    @property
    def call_id(self) -> str:
        """Digest of role, model, parameters, messages, schema, prompt version and sample: 32 hex digits."""
        return digest(
            self.role,
            self.model,
            dict(self.parameters),
            [dict(message) for message in self.messages],
            dict(self.schema),
            [self.step, self.version],
            self.sample,
            length=32,
        )
