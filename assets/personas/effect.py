"""States the built-in personas of the profile in the log, each once."""

from __future__ import annotations

from collections.abc import Mapping

from assets.personas.builtin import personas
from assets.stage import Context


def create_personas(context: Context) -> Mapping[str, int]:
    """Emit `persona.created` for each built-in persona that the log does not hold yet."""
    section = context.profile.personas
    known = context.lake.streams("persona", ("persona.created",))
    new = [p for p in personas(section.count, section.seed) if p.persona_id not in known]
    if new:
        with context.lake.spool("personas.builtin", context.run_id) as spool:
            for persona in new:
                spool.stream("persona", persona.persona_id).emit("persona.created", persona.to_payload())
    context.progress("personas", section.count, section.count)
    return {"created": len(new), "found": section.count - len(new)}
