"""Stage `personas`: who the tasks are for.

Belongs here: making and importing personas. Does not belong here: scenarios, operations, instructions (`tasks`).
"""

from __future__ import annotations

from assets.personas.effect import create_personas, import_personas
from assets.personas.persona import Persona
from assets.personas.projection import CHECKS, PROJECTION
from assets.stage import Stage

STAGE = Stage(
    name="personas",
    doc="User profiles from which task instructions take their setting.",
    projection=PROJECTION,
    effect=create_personas,
    checks=CHECKS,
)

__all__ = ["STAGE", "Persona", "import_personas"]
