"""The contract of a procedural task family: a name, labels from the taxonomy, and a draft for each seed.

Belongs here: `Family`, `Draft`, and the one way a draft becomes a `TaskBundle`. Does not belong here: any family
(`families/<name>/`), the verifier's text (`verifier.py`, `prelude.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from assets.personas import Persona
from assets.tasks.bundle import TaskBundle
from assets.tasks.plan import Plan
from assets.tasks.verifier import assemble

LICENCE: Final = "Apache-2.0"
Protocol = Literal["grade_floats", "reward_booleans"]


@dataclass(frozen=True)
class Setting:
    """Which of a family's work scenarios a seed plays in."""

    category: str
    subcategory: str


@dataclass(frozen=True)
class Draft:
    """What a family makes from a seed, before verifier and labels are put to it."""

    instruction: str
    inputs: Mapping[str, str | bytes]
    oracle: Mapping[str, str]
    """Outputs computed by the generator from its own records, by another way than the verifier's."""
    constants: Mapping[str, Any]
    """Values of the upper-case constants of the family's `check.py`."""
    plan: Plan
    editable: tuple[str, ...] = ()
    """Inputs the task asks to change."""
    rubric: tuple[Mapping[str, Any], ...] | None = None


@dataclass(frozen=True)
class Family:
    """A kind of task whose every parameter follows from a seed."""

    name: str
    bench_category: str
    settings: tuple[Setting, ...]
    """Scenarios it plays in, taken in turn by seed."""
    operations: tuple[str, ...]
    difficulty: int
    folder: Path
    """Where its `check.py` and `solve.py` are."""
    draft: Callable[[random.Random, Persona, Setting], Draft] = field(repr=False)
    protocol: Protocol = "grade_floats"
    domains: tuple[str, ...] = ()
    """Fields of work of the personas it suits; all where empty."""
    skill_words: tuple[str, ...] = ()
    """Words that a fitting skill has in its name or description."""

    @property
    def scenario_category(self) -> str:
        """Its first scenario category."""
        return self.settings[0].category

    @property
    def scenario_subcategory(self) -> str:
        """Its first subcategory."""
        return self.settings[0].subcategory

    @cached_property
    def check_source(self) -> str:
        """Text of the family's own part of the verifier."""
        return (self.folder / "check.py").read_text("utf-8")

    def task_id(self, seed: int) -> str:
        """`<family>-s<seed, four digits>`."""
        return f"{self.name}-s{seed:04d}"

    def generate(self, seed: int, persona: Persona, skills: Sequence[str] = ()) -> TaskBundle:
        """The task of a seed, told by a persona. The same arguments give the same bytes.

        Args:
            seed: where all data and parameters come from; the persona only colours the request.
            persona: who asks.
            skills: ids of skills that fit, for the record.
        """
        setting = self.settings[seed % len(self.settings)]
        draft = self.draft(random.Random(f"{self.name}:{seed}"), persona, setting)
        inputs = {path: _bytes(content) for path, content in sorted(draft.inputs.items())}
        check = assemble(
            self.check_source,
            task_id=self.task_id(seed),
            originals=inputs,
            editable=draft.editable,
            constants=draft.constants,
            outputs=tuple(sorted(draft.oracle)),
            protocol=self.protocol,
        )
        return TaskBundle(
            task_id=self.task_id(seed),
            instruction=draft.instruction,
            inputs=inputs,
            reward={"check.py": check},
            verifier_protocol=self.protocol,
            origin=f"family:{self.name}",
            route="persona",
            licence=LICENCE,
            oracle={path: _bytes(content) for path, content in sorted(draft.oracle.items())},
            plan=draft.plan,
            rubric=draft.rubric,
            family=self.name,
            seed=seed,
            scenario_category=setting.category,
            scenario_subcategory=setting.subcategory,
            bench_category=self.bench_category,
            operations=self.operations,
            difficulty=self.difficulty,
            persona_id=persona.persona_id,
            skill_ids=tuple(skills),
            expected_outputs=tuple(sorted(draft.oracle)),
        )


def _bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8") if isinstance(content, str) else content
