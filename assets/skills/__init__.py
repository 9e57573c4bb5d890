"""Stage `skills`: abilities that tasks can be built from, read from SKILL.md folders and annotated.

Belongs here: reading, annotation, provenance and suspicious traits. Does not belong here: tasks made from them.
"""

from __future__ import annotations

from assets.skills.effect import import_skills
from assets.skills.projection import CHECKS, PROJECTION
from assets.skills.reader import find_bundled, read_source
from assets.stage import Stage

STAGE = Stage(
    name="skills",
    doc="Skills with the twelve-field annotation of ClawGym-SynData.",
    projection=PROJECTION,
    effect=import_skills,
    checks=CHECKS,
)

__all__ = ["STAGE", "find_bundled", "read_source"]
