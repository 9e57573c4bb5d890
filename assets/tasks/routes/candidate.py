"""Candidates: what a task is going to be about, drawn by seed before any model is asked.

Belongs here: the draws and their balance. Candidate i of a route and seed does not depend on how many are wanted. Does
not belong here: questions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from assets.personas import Persona
from assets.profile import SynthesisSection
from assets.tasks.taxonomy import EXTRA_SCENARIOS, OFFLINE_OPERATIONS, SCENARIOS
from lake.errors import StageError
from lake.ids import digest

Route = Literal["persona", "skill"]

HIDDEN: Final = frozenset({"hidden_instruction", "zero_width_text", "bidi_control"})
"""Flags of skills that no task is made from: what a reader sees is not what a model would read."""


@dataclass(frozen=True)
class Candidate:
    """One task to be written."""

    route: Route
    seed: int
    index: int
    category: str
    subcategory: str
    difficulty: int
    operations: tuple[str, ...] = ()
    persona: Persona | None = None
    skills: tuple[Mapping[str, Any], ...] = ()
    """Rows of `skills`: the primary one, then the supporting ones."""

    @property
    def candidate_id(self) -> str:
        """`<route>-s<seed>-<index>`; also the id of its task."""
        return f"{self.route}-s{self.seed}-{self.index:05d}"


def persona_candidates(settings: SynthesisSection, personas: Sequence[Persona]) -> Iterator[Candidate]:
    """Candidates of the persona route, without end: scenario, operations and difficulty in balance, a persona each.

    Raises:
        StageError: there are no personas.
    """
    if not personas:
        raise StageError("there are no personas to write tasks for; run the stage personas first")
    for index, (category, subcategory, difficulty) in enumerate(_scenarios("persona", settings)):
        chance = random.Random(f"persona:{settings.seed}:{index}")
        operations = chance.sample(OFFLINE_OPERATIONS, min(settings.operations, len(OFFLINE_OPERATIONS)))
        persona = max(personas, key=lambda p: digest("persona", settings.seed, index, p.persona_id))
        yield Candidate(
            "persona", settings.seed, index, category, subcategory, difficulty, tuple(operations), persona
        )  # fmt: skip


def skill_candidates(settings: SynthesisSection, skills: Sequence[Mapping[str, Any]]) -> Iterator[Candidate]:
    """Candidates of the skill route, without end: every usable skill is primary once before any is again.

    Raises:
        StageError: no skill can be used.
    """
    usable = sorted((row for row in skills if usable_skill(row)), key=lambda row: str(row["skill_id"]))
    if not usable:
        raise StageError(
            "there is no synthesizable skill; look at `clawgym skills list`, or name more [skills] sources"
        )
    order: list[Mapping[str, Any]] = []
    for index, (category, subcategory, difficulty) in enumerate(_scenarios("skill", settings)):
        chance = random.Random(f"skill:{settings.seed}:{index}")
        if not order:
            order = random.Random(f"skills:{settings.seed}:{index}").sample(usable, len(usable))
        primary = order.pop()
        others = [row for row in usable if row is not primary]
        count = min(chance.randint(0, settings.supporting_skills), len(others))
        yield Candidate(
            "skill", settings.seed, index, category, subcategory, difficulty,
            skills=(primary, *chance.sample(others, count)),
        )  # fmt: skip


def usable_skill(row: Mapping[str, Any]) -> bool:
    """Whether tasks may be built from a skill: synthesizable, and nothing hidden in it."""
    return bool(row["synthesizable"]) and not HIDDEN & set(row["flags"])


def _scenarios(route: Route, settings: SynthesisSection) -> Iterator[tuple[str, str, int]]:
    """Every category once before any comes again, so that none has more than its share; difficulties likewise."""
    known = {**SCENARIOS, **(EXTRA_SCENARIOS if settings.extra_scenarios else {})}
    chance = random.Random(f"scenarios:{route}:{settings.seed}")
    categories: list[str] = []
    difficulties: list[int] = []
    while True:
        categories = categories or chance.sample(sorted(known), len(known))
        difficulties = difficulties or chance.sample((1, 2, 3, 4, 5), 5)
        category = categories.pop()
        yield category, chance.choice(known[category]), difficulties.pop()
