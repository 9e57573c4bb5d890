"""Personas of others: taken once, with their licence; a bad line is counted and never a stop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lake as lakes
from assets.personas import STAGE
from assets.personas.imports import read_personas
from assets.personas.persona import Persona
from assets.profile import PersonaImport, PersonasSection, Profile
from assets.stage import Context, run_stage
from assets.tasks.choice import persona_for
from assets.tasks.families import families
from lake.errors import UsageError

LINES = [
    json.dumps({"persona": "A retired tram driver who restores radios"}).encode(),
    b"{not json",
    json.dumps(["a list"]).encode(),
    json.dumps({"persona": "  "}).encode(),
    json.dumps({"persona": "x" * 5000}).encode(),
    json.dumps({"persona": "An  oyster farmer\nwith a blog", "id": 7}).encode(),
    json.dumps({"persona": "A retired tram driver who restores radios"}).encode(),
    b"\xff\xfe",
    json.dumps({"persona": "lone \ud800 surrogate"}).encode(),
]


def source(root: Path, **changes: object) -> PersonaImport:
    path = root / "pool.jsonl"
    path.write_bytes(b"\n".join(LINES) + b"\n")
    return PersonaImport.model_validate({"path": str(path), "licence": "CC-BY-4.0", **changes})


def test_lines_are_personas_or_reasons(tmp_path: Path) -> None:
    found = list(read_personas(source(tmp_path)))
    assert [item if isinstance(item, str) else item.occupation for item in found] == [
        "retired tram driver", "not JSON", "no text in `persona`", "no text in `persona`",
        "longer than 4000 characters", "oyster farmer", "repeated", "not JSON", "lone ? surrogate",
    ]  # fmt: skip
    persona = found[5]
    assert isinstance(persona, Persona) and persona.text == "An oyster farmer with a blog"
    assert (persona.origin, persona.licence) == ("import:pool.jsonl", "CC-BY-4.0")
    assert list(read_personas(source(tmp_path))) == found
    assert [type(item) for item in read_personas(source(tmp_path, start=5, limit=2))] == [Persona, Persona]


def test_they_are_imported_once_and_leave_the_families_alone(tmp_path: Path) -> None:
    opened = lakes.open(tmp_path / "lake")
    profile = Profile(personas=PersonasSection(count=6, imports=(source(tmp_path),)))
    effect = run_stage(STAGE, Context(opened, profile)).effect
    assert (effect["imported"], effect["known"], effect["unusable"]) == (3, 0, 6)
    again = run_stage(STAGE, Context(opened, profile))
    assert (again.effect["imported"], again.effect["known"]) == (0, 3) and again.built.skipped
    assert all(check.run(opened).passed for check in STAGE.checks)
    rows = [Persona.from_row(row) for row in opened.rows("personas")]
    builtin = [row for row in rows if row.origin == "builtin"]
    assert len(rows) == 9
    for family in families().values():
        assert persona_for(family, 0, rows) == persona_for(family, 0, builtin)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        list(read_personas(PersonaImport(path=str(tmp_path / "no.jsonl"), licence="x")))
