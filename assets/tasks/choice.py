"""Which persona asks for a task and which skills fit it: by seed, from the stage tables.

Belongs here: the two deterministic choices. Does not belong here: how personas or skills are made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from assets.personas import Persona
from assets.personas.builtin import ORIGIN
from assets.tasks.family import Family
from lake.errors import StageError
from lake.ids import digest

MAX_SKILLS: Final = 4
"""One primary and up to three supporting skills."""


def persona_for(family: Family, seed: int, personas: Sequence[Persona]) -> Persona:
    """The persona with the highest draw for (family, seed) among those of a fitting field of work, else among all.

    Imported personas are for tasks that models write: they would give the tasks of families other texts. A new persona
    changes the choice only where it draws highest itself, so most tasks keep theirs.

    Raises:
        StageError: there are no personas.
    """
    if not personas:
        raise StageError("there are no personas to ask for tasks; run the stage personas first")
    own = [p for p in personas if p.origin == ORIGIN] or list(personas)
    fitting = [p for p in own if p.domain in family.domains] or own
    return max(fitting, key=lambda p: digest(family.name, seed, p.persona_id))


def skills_for(family: Family, skills: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Ids of synthesizable skills for Linux that have a word of the family in name or description, best first."""
    scored = []
    for row in skills:
        systems = {name for name in row.get("required_env") or () if name.startswith("os:")}
        if not row["synthesizable"] or (systems and "os:linux" not in systems):
            continue
        text = re.sub(r"[^a-z0-9]+", " ", f"{row['name']} {row['description']}".lower())
        hits = sum(f" {word} " in f" {text} " for word in family.skill_words)
        if hits:
            scored.append((-hits, str(row["skill_id"])))
    return tuple(skill_id for _, skill_id in sorted(scored)[:MAX_SKILLS])
