"""The built-in personas: deterministic, spread over the fields of work, stated once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import lake
from assets.personas import STAGE, Persona
from assets.personas.builtin import DOMAINS, personas
from assets.profile import PersonasSection, Profile
from assets.stage import Context, run_stage


def _profile(count: int, seed: int = 1) -> Profile:
    return Profile(personas=PersonasSection(count=count, seed=seed))


def test_same_seed_gives_the_same_and_a_longer_run_begins_with_a_shorter() -> None:
    few, many = list(personas(20, 3)), list(personas(400, 3))
    assert many[:20] == few
    assert len({p.persona_id for p in many}) == 400
    assert list(personas(20, 4)) != few


def test_fields_of_work_come_in_turn() -> None:
    counts = Counter(p.domain for p in personas(5 * len(DOMAINS), 9))
    assert set(counts.values()) == {5}
    assert set(counts) == set(DOMAINS)


def test_texts_name_the_person_and_the_work() -> None:
    for persona in personas(100, 2):
        assert persona.name in persona.text and persona.occupation in persona.text
        assert 12 <= len(persona.text.split()) <= 60
        assert " a a" not in persona.text and " an p" not in persona.text
        assert Persona.from_row(persona.to_payload()) == persona


def test_stage_states_each_persona_once(tmp_path: Path) -> None:
    opened = lake.open(tmp_path / "lake")
    first = run_stage(STAGE, Context(opened, _profile(10)))
    assert dict(first.effect) == {"created": 10, "found": 0}
    again = run_stage(STAGE, Context(opened, _profile(10)))
    assert dict(again.effect) == {"created": 0, "found": 10}
    assert again.built.skipped and again.built.digests == first.built.digests
    more = run_stage(STAGE, Context(opened, _profile(14)))
    assert dict(more.effect) == {"created": 4, "found": 10}
    rows = opened.rows("personas")
    assert len(rows) == 14
    assert all(check.run(opened).passed for check in STAGE.checks)
    assert {Persona.from_row(row).persona_id for row in rows} == {row["persona_id"] for row in rows}


def test_check_fails_on_a_crowded_field(tmp_path: Path) -> None:
    opened = lake.open(tmp_path / "lake")
    with opened.spool("test") as spool:
        for i in range(9):
            persona = Persona(f"Person {i}.", "P", "clerk", "education", "builtin", "Apache-2.0")
            spool.stream("persona", persona.persona_id).emit("persona.created", persona.to_payload())
    opened.commit()
    opened.build(STAGE.projection)
    outcome = STAGE.checks[0].run(opened)
    assert not outcome.passed and "9 in one" in outcome.detail
