"""States personas in the log, each once: the built-in ones of the profile, and those of files it names.

Belongs here: the events. Does not belong here: making (`builtin.py`) or reading them (`imports.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from assets.personas.builtin import personas
from assets.personas.imports import read_personas
from assets.personas.persona import Persona
from assets.profile import PersonaImport
from assets.stage import Context


def create_personas(context: Context) -> Mapping[str, int]:
    """Emit `persona.created` for each persona of the profile that the log does not hold yet.

    Raises:
        UsageError: a file of personas cannot be read.
    """
    section = context.profile.personas
    created, found = _state(context, "personas.builtin", personas(section.count, section.seed))
    counts = Counter({"created": created, "found": found})
    for source in section.imports:
        counts.update(import_personas(context, source))
    context.progress("personas", section.count, section.count)
    return dict(counts)


def import_personas(context: Context, source: PersonaImport) -> Mapping[str, int]:
    """Emit `persona.created` for each new persona of a file; a line that is none is counted, never a stop.

    Returns:
        Counts: `imported`, `known`, `unusable`.

    Raises:
        UsageError: the file cannot be read.
    """
    unusable: Counter[str] = Counter()

    def good() -> Iterable[Persona]:
        for item in read_personas(source):
            if isinstance(item, Persona):
                yield item
            else:
                unusable[item] += 1

    imported, known = _state(context, "personas.imports", good())
    for reason, count in sorted(unusable.items()):
        context.progress(f"{source.path}: {count} lines are no personas: {reason}")
    return {"imported": imported, "known": known, "unusable": unusable.total()}


def _state(context: Context, actor: str, wanted: Iterable[Persona]) -> tuple[int, int]:
    """How many were new, and how many the log had."""
    context.lake.commit()
    known = context.lake.streams("persona", ("persona.created",))
    new = found = 0
    with context.lake.spool(actor, context.run_id) as spool:
        for persona in wanted:
            if persona.persona_id in known:
                found += 1
                continue
            spool.stream("persona", persona.persona_id).emit("persona.created", persona.to_payload())
            new += 1
    return new, found
