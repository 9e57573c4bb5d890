"""Probes: workspaces whose worth we know, and what a verifier must say of each.

Belongs here: the list of probes of a task, their workspaces, their bounds. Does not belong here: running them
(`effect.py`), the mistakes of mutants (`mutants.py`), what follows for the task (`decision.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from assets.audits import lint
from assets.audits.mutants import Skipped, mutants
from assets.grading import Grade
from assets.profile import AuditsSection
from assets.tasks import TaskBundle, worthless

IN_PROCESS = "lint:in_process"
"""Rejects a task of ours; an imported one is accepted, kept from the bench, and found by this row where RL selects."""
EXACT = 1e-9
"""Scores this near are the same score."""


@dataclass(frozen=True)
class Outcome:
    """Whether a probe came out as it must."""

    passed: bool
    detail: str | None


@dataclass(frozen=True)
class Probe:
    """One workspace to show a verifier."""

    name: str
    files: Mapping[str, bytes]
    bound: str
    """What must hold, as text."""
    judge: Callable[[Grade], Outcome] = field(repr=False)


@dataclass(frozen=True)
class Lint:
    """A finding without a run."""

    name: str
    found: list[str]
    bound: str
    must_hold: bool = True
    """Whether a finding rejects the task."""


@dataclass(frozen=True)
class Plan:
    """All that is tried on a task."""

    probes: list[Probe]
    repeat: Probe
    """The oracle again (else the untouched workspace), always run anew; judged against the first time by the caller."""
    lints: list[Lint]
    skipped: list[Skipped]


def plan(bundle: TaskBundle, bounds: AuditsSection) -> Plan:
    """The probes of a task, in order."""
    base = dict(bundle.inputs)
    below = bounds.worthless_below
    probes = [
        Probe("untouched", base, "score = 0", _at_most(0.0)),
        Probe("empty", {}, f"score < {below:g}", _below(below)),
    ]
    if bundle.expected_outputs:
        for name, outputs in (
            ("zero_byte", worthless.zero_byte(bundle)),
            ("placeholder", worthless.placeholders(bundle)),
            ("pasted_instruction", worthless.pasted_instruction(bundle)),
        ):
            probes.append(Probe(name, {**base, **outputs}, f"score < {below:g}", _below(below)))
    repeated = probes[0]
    made, skipped = mutants(bundle)
    if bundle.oracle is not None:
        repeated = Probe("oracle", {**base, **bundle.oracle}, "score = 1", _exactly_one)
        probes.append(repeated)
        for mutant in made:
            bound, judge = ("score < 1", _noticed) if mutant.counted else ("reported only: no order is stated", _any)
            probes.append(Probe(mutant.probe, {**base, **mutant.outputs}, bound, judge))
    repeat = Probe("repeat", repeated.files, f"every check as in {repeated.name}", _any)
    return Plan(probes, repeat, _lints(bundle), skipped)


def _lints(bundle: TaskBundle) -> list[Lint]:
    own = bundle.family is not None
    return [
        Lint("lint:missing_input", lint.missing_input(bundle), "every input that is named is there"),
        Lint(
            IN_PROCESS,
            lint.in_process(bundle),
            "no code of the workspace runs inside the verifier" + ("" if own else " (reported only: imported)"),
            must_hold=own,
        ),
    ]


def same(first: Grade, again: Grade) -> Outcome:
    """Whether a second run said the same as the first."""
    if (first.status, first.checks, first.score_code) == (again.status, again.checks, again.score_code):
        return Outcome(again.status == "scored", again.detail)
    changed = sorted(
        name for name in first.checks.keys() | again.checks.keys() if first.checks.get(name) != again.checks.get(name)
    )
    return Outcome(False, f"first {first.status} {first.score_code}, then {again.status} {again.score_code}: {changed}")


def _score(grade: Grade) -> float | None:
    return grade.score_code if grade.status == "scored" else None


def _verdict(grade: Grade, holds: Callable[[float], bool]) -> Outcome:
    score = _score(grade)
    if score is None:
        return Outcome(False, f"{grade.status}: {grade.detail}")
    if holds(score):
        return Outcome(True, None)
    paid = [name for name, value in grade.checks.items() if value > 0]
    lost = [name for name, value in grade.checks.items() if value < 1]
    listed = f"checks that paid: {', '.join(paid)}" if score < 1 - EXACT and len(paid) <= len(lost) else ""
    listed = listed or (f"checks that did not: {', '.join(lost)}" if lost else "every check paid")
    return Outcome(False, f"score {score:.3f}; {listed}"[:400])


def _at_most(bound: float) -> Callable[[Grade], Outcome]:
    return lambda grade: _verdict(grade, lambda score: score <= bound + EXACT)


def _below(bound: float) -> Callable[[Grade], Outcome]:
    return lambda grade: _verdict(grade, lambda score: score < bound)


def _exactly_one(grade: Grade) -> Outcome:
    return _verdict(grade, lambda score: score >= 1 - EXACT)


def _noticed(grade: Grade) -> Outcome:
    return _verdict(grade, lambda score: score < 1 - EXACT)


def _any(grade: Grade) -> Outcome:
    return Outcome(True, None if grade.status == "scored" else f"{grade.status}: {grade.detail}")
