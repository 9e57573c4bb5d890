"""A skill as read and as annotated: plain records, no reading and no rules.

Belongs here: `SkillSource`, `Annotation` and the rules every annotation must obey, whoever made it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from lake.ids import sha256_hex

LANGUAGES: Final = ("english", "chinese", "multilingual", "other")

TEXT_LIMIT: Final = 30_000
"""Characters of SKILL.md and its neighbours that are kept."""


@dataclass(frozen=True)
class SkillSource:
    """One skill folder as read from disk."""

    skill_id: str
    source: str
    """`openclaw-bundled` or `folder:<name>`."""
    folder: str
    text: str
    """SKILL.md, README.md, then the other text files sorted; cut at `TEXT_LIMIT`."""
    truncated: bool
    name: str
    description: str
    body: str
    """SKILL.md without its front matter."""
    meta: dict[str, Any]
    """The front matter, as far as it could be read."""
    flags: tuple[str, ...]
    licence: str
    error: str | None = None
    """Why the skill cannot be used; nothing else is meant to be complete then."""

    @property
    def stream_id(self) -> str:
        """`<skill_id>@<first 16 hex digits of the text's sha256>`."""
        return f"{self.skill_id}@{sha256_hex(self.text)[:16]}"


@dataclass(frozen=True)
class Annotation:
    """The twelve fields of a ClawGym skill annotation."""

    language: str
    summary: str
    auth_required: bool
    auth_details: tuple[str, ...]
    input_format: str
    output_format: str
    has_risk: bool
    risk_reasons: tuple[str, ...]
    required_env: tuple[str, ...]
    text_only_compatible: bool
    non_text_reasons: tuple[str, ...]
    core_content: str

    @property
    def synthesizable(self) -> bool:
        """Whether offline tasks can be built from it."""
        return not self.auth_required and self.text_only_compatible

    def problems(self) -> list[str]:
        """What breaks the annotation's own rules; empty when it is sound."""
        found = []
        if self.language not in LANGUAGES:
            found.append(f"language {self.language!r} is not one of {', '.join(LANGUAGES)}")
        if self.auth_required != bool(self.auth_details):
            found.append("auth_required and auth_details disagree")
        if self.has_risk != bool(self.risk_reasons):
            found.append("has_risk and risk_reasons disagree")
        if self.text_only_compatible == bool(self.non_text_reasons):
            found.append("text_only_compatible and non_text_reasons disagree")
        if not self.summary.strip():
            found.append("summary is empty")
        return found

    def to_payload(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
