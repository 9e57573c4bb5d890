"""A task before it is stated in the log: everything it consists of, as bytes.

Belongs here: the bundle and its identities. Does not belong here: how it is made (families, routes, importers).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assets.tasks.plan import Plan
from lake.ids import digest, sha256_hex


@dataclass(frozen=True)
class TaskBundle:
    """One executable workspace task: instruction, initial files, verifier package, reference solution, plan."""

    task_id: str
    instruction: str
    inputs: Mapping[str, bytes]
    """Workspace path to content; the untouched workspace."""
    reward: Mapping[str, bytes]
    """The verifier package: the verifier itself (`check.py`, `test.sh`) and what it needs. Never in the agent's
    workspace."""
    verifier_protocol: str
    """grade_floats | reward_booleans | harbor | judge_only"""
    origin: str
    route: str
    licence: str
    oracle: Mapping[str, bytes] | None = None
    """Workspace path to content of what a perfect agent leaves, beyond or over the inputs."""
    plan: Plan | None = None
    rubric: tuple[Mapping[str, Any], ...] | None = None
    family: str | None = None
    seed: int | None = None
    scenario_category: str | None = None
    scenario_subcategory: str | None = None
    bench_category: str | None = None
    operations: tuple[str, ...] = ()
    difficulty: int | None = None
    persona_id: str | None = None
    skill_ids: tuple[str, ...] = ()
    expected_outputs: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of an imported format that have no place of their own; kept for a loss-free export."""

    @property
    def verifier_version(self) -> str:
        """First 16 hex digits of the digest over the verifier package."""
        return digest({p: sha256_hex(c) for p, c in self.reward.items()}, length=16)

    @property
    def task_version(self) -> str:
        """First 16 hex digits of the digest over instruction, inputs, verifier and rubric."""
        return digest(
            self.instruction,
            {p: sha256_hex(c) for p, c in self.inputs.items()},
            self.verifier_version,
            [dict(rule) for rule in self.rubric] if self.rubric is not None else None,
            length=16,
        )
