"""Personas of others: JSON Lines with `persona`, as in PersonaHub, whose licence the importer has to state.

Belongs here: reading such a file and what a text tells of its person. Does not belong here: which persona asks for
what.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from assets.personas.builtin import NAMES
from assets.personas.persona import Persona
from assets.profile import PersonaImport
from lake.errors import UsageError
from lake.ids import digest

LONGEST: Final = 4000
"""Characters of a persona's text."""
DOMAIN: Final = "unstated"
_FIRST: Final = re.compile(r"[.;:,\n]|\b(?:who|with|from|at|in|whose|that|seeking|working|interested|specializing)\b")
_ARTICLE: Final = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)


def read_personas(source: PersonaImport) -> Iterator[Persona | str]:
    """Each line of the range: a persona, or why it is none. A text that was there before is such a reason.

    Raises:
        UsageError: the file cannot be read.
    """
    path = Path(source.path).expanduser()
    seen: set[str] = set()
    try:
        with path.open("rb") as file:
            for line in islice(file, source.start, source.start + source.limit):
                found = _persona(line, path.name, source.licence)
                if isinstance(found, Persona):
                    if found.persona_id in seen:
                        found = "repeated"
                    else:
                        seen.add(found.persona_id)
                yield found
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; give a JSON Lines file with `persona`") from error


def _persona(line: bytes, name: str, licence: str) -> Persona | str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return "not JSON"
    text = value.get("persona") if isinstance(value, dict) else None
    if not isinstance(text, str) or not text.strip():
        return "no text in `persona`"
    text = " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
    if len(text) > LONGEST:
        return f"longer than {LONGEST} characters"
    return Persona(text, _given_name(text), _occupation(text), DOMAIN, f"import:{name}", licence)


def _given_name(text: str) -> str:
    """Ours, by the text: such personas have none."""
    return NAMES[int(digest("name", text, length=8), 16) % len(NAMES)]


def _occupation(text: str) -> str:
    """The words before the first clause, without their article."""
    head = _FIRST.split(_ARTICLE.sub("", text), maxsplit=1)[0].strip()
    return head[:80] or text[:80]
