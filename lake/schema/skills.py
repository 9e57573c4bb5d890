"""Tables of the stage `skills`: abilities a task can be built from, read from SKILL.md folders."""

from __future__ import annotations

import pyarrow as pa

from lake.schema.model import STRINGS, Column, Table

SKILLS = Table(
    name="skills",
    stage="skills",
    kind="projection",
    doc="Skills with the twelve-field annotation of ClawGym-SynData.",
    grain="one skill",
    key=("skill_id",),
    columns=(
        Column("skill_id", pa.string(), "Slug of the folder name"),
        Column("name", pa.string(), "Name in the front matter"),
        Column("description", pa.string(), "Description in the front matter"),
        Column("source", pa.string(), "openclaw-bundled | folder:<name>"),
        Column(
            "text_sha256",
            pa.string(),
            "Blob of SKILL.md and its neighbours as read, cut at 30,000 characters",
            references="blobs.sha256",
        ),
        Column("truncated", pa.bool_(), "Whether the 30,000 character limit cut the text"),
        Column("status", pa.string(), "annotated | not_synthesizable | failed"),
        Column("synthesizable", pa.bool_(), "not auth_required and text_only_compatible; false when failed"),
        Column("reason", pa.string(), "Why it failed; null otherwise", nullable=True),
        Column("language", pa.string(), "english | chinese | multilingual | other; null when failed", nullable=True),
        Column("summary", pa.string(), "One sentence; null when failed", nullable=True),
        Column("auth_required", pa.bool_(), "Needs an account or a key; null when failed", nullable=True),
        Column("auth_details", STRINGS, "Non-empty exactly when auth_required"),
        Column("input_format", pa.string(), "What it takes; null when failed", nullable=True),
        Column("output_format", pa.string(), "What it makes; null when failed", nullable=True),
        Column("has_risk", pa.bool_(), "Can do harm; null when failed", nullable=True),
        Column("risk_reasons", STRINGS, "Non-empty exactly when has_risk"),
        Column("required_env", STRINGS, "Programs and variables it needs"),
        Column("text_only_compatible", pa.bool_(), "Works on text files alone; null when failed", nullable=True),
        Column("non_text_reasons", STRINGS, "Non-empty exactly when not text_only_compatible"),
        Column("core_content", pa.string(), "What is left for task synthesis; null when failed", nullable=True),
        Column("annotator", pa.string(), "rules:<version> | model name"),
        Column("flags", STRINGS, "Suspicious traits: instructions to the annotator, zero-width text …"),
        Column("licence", pa.string(), "Licence of the skill text, as far as stated"),
        Column("event_id", pa.string(), "Event that stated it", references="events.event_id"),
    ),
)

TABLES = (SKILLS,)
