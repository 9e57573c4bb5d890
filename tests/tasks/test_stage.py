"""The tasks stage: proposals stated once, bundles that come back whole, checks that can fail."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path

import pytest

import lake
from assets.personas.builtin import personas
from assets.profile import Profile, TasksSection
from assets.stage import Context, run_stage
from assets.tasks import STAGE, TaskBundle, generate, load_bundle
from assets.tasks.checks import CHECKS
from assets.tasks.choice import persona_for, skills_for
from assets.tasks.families import chosen, families
from assets.tasks.lint import leaks, lint, missing_inputs, named_paths
from assets.tasks.propose import main, propose
from lake.errors import StageError, UsageError
from tests.tasks.runner import FAMILIES, PERSONA, bundle


def _context(tmp_path: Path, **tasks: object) -> Context:
    context = Context(lake.open(tmp_path / "lake"), Profile(tasks=TasksSection.model_validate(tasks)))
    with context.lake.spool("test") as spool:
        for persona in personas(14, 1):
            spool.stream("persona", persona.persona_id).emit("persona.created", persona.to_payload())
    context.lake.commit()
    from assets.personas import STAGE as PERSONAS

    context.lake.build(PERSONAS.projection)
    return context


def test_stage_proposes_once_and_bundles_come_back_whole(tmp_path: Path) -> None:
    context = _context(tmp_path, families=("bugfix_package", "expense_claims"), seeds_per_family=2, first_seed=5)
    assert dict(run_stage(STAGE, context).effect) == {"proposed": 4, "found": 0}
    again = run_stage(STAGE, context)
    assert dict(again.effect) == {"proposed": 0, "found": 4} and again.built.skipped
    people = list(personas(14, 1))
    made = {b.task_id: b for b in generate(("bugfix_package", "expense_claims"), 2, 5, personas=people)}
    rows = context.lake.rows("tasks")
    assert {row["task_id"] for row in rows} == set(made) and "bugfix_package-s0006" in made
    for row in rows:
        loaded = load_bundle(context.lake, row)
        assert loaded == made[row["task_id"]]
        assert loaded.task_version == row["task_version"] and loaded.verifier_version == row["verifier_version"]
    assert {check.name: check.run(context.lake).passed for check in CHECKS} == dict.fromkeys(
        ("tasks_lint", "tasks_verifiable", "tasks_balance", "tasks_distinct"), True
    )


def test_more_seeds_add_and_change_nothing(tmp_path: Path) -> None:
    context = _context(tmp_path, families=("expense_claims",), seeds_per_family=1)
    run_stage(STAGE, context)
    before = context.lake.rows("tasks")
    wider = dataclasses.replace(
        context, profile=Profile(tasks=TasksSection(families=("expense_claims",), seeds_per_family=3))
    )
    assert dict(run_stage(STAGE, wider).effect) == {"proposed": 2, "found": 1}
    assert before[0] in context.lake.rows("tasks")


def test_no_personas_is_a_stage_error(tmp_path: Path) -> None:
    context = Context(lake.open(tmp_path / "lake"), Profile())
    bundles = generate(("expense_claims",), 1)
    assert next(bundles).persona_id is not None
    with pytest.raises(StageError, match="personas first"):
        persona_for(families()["expense_claims"], 0, [])
    assert context.lake.rows("tasks") == []


def test_unknown_family_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match="expense_claims"):
        chosen(("nonsense",))


def test_personas_fit_and_stay(tmp_path: Path) -> None:
    people = list(personas(56, 1))
    for family in families().values():
        picked = [persona_for(family, seed, people) for seed in range(20)]
        assert {p.domain for p in picked} <= set(family.domains)
        assert len({p.persona_id for p in picked}) > 1
        fewer = [p for p in people if p != picked[0]]
        kept = [
            persona_for(family, seed, fewer) == persona for seed, persona in enumerate(picked) if persona != picked[0]
        ]
        assert all(kept)


def test_skills_fit_by_words_and_only_synthesizable_ones() -> None:
    family = dataclasses.replace(families()["expense_claims"], skill_words=("csv", "invoice"))
    rows = [
        {"skill_id": "a", "name": "a", "description": "Reads csv files", "synthesizable": True},
        {"skill_id": "b", "name": "csv-invoice", "description": "Reads invoice files", "synthesizable": True},
        {"skill_id": "c", "name": "csv", "description": "csv", "synthesizable": False},
        {"skill_id": "d", "name": "d", "description": "plays chess", "synthesizable": True},
    ]
    assert skills_for(family, rows) == ("b", "a")


def test_persona_colours_the_request_and_leaves_the_data() -> None:
    other = list(personas(5, 77))[4]
    for name in FAMILIES:
        first, second = bundle(name, 0), families()[name].generate(0, other)
        assert (
            first.instruction != second.instruction and other.name in second.instruction
        ) or first.inputs == second.inputs
        assert first.inputs == second.inputs and first.oracle == second.oracle and first.reward == second.reward


def test_lint_finds_leaks_missing_inputs_and_unnamed_outputs() -> None:
    task = bundle("expense_claims", 0)
    oracle = dict(task.oracle or {})
    leaking = dataclasses.replace(task, inputs={**task.inputs, "input/old.csv": oracle["output/approved_claims.csv"]})
    assert leaks(leaking) == {"output/approved_claims.csv"} and lint(leaking)
    assert leaks(task) == set()
    absent = dataclasses.replace(task, inputs={p: c for p, c in task.inputs.items() if not p.endswith("yaml")})
    assert missing_inputs(dataclasses.replace(absent, instruction="Read input/policy.yaml")) == ["input/policy.yaml"]
    unnamed = dataclasses.replace(task, expected_outputs=(*task.expected_outputs, "output/more.md"))
    assert any("output/more.md" in problem for problem in lint(unnamed))
    assert any("words" in problem for problem in lint(dataclasses.replace(task, instruction="Do it.")))
    assert named_paths("Write output/a.csv, data/x.y/b.json. See docs/ and a/b; v1.2/x") == {
        "output/a.csv",
        "data/x.y/b.json",
    }


def test_checks_fail_on_bad_tasks(tmp_path: Path) -> None:
    context = _context(tmp_path)
    task = bundle("expense_claims", 0)
    twin = dataclasses.replace(task, task_id="expense_claims-s9999")
    thin = TaskBundle(
        task_id="thin", instruction="Do it.", inputs={}, reward={"check.py": b"@check\ndef a(w): return 1\n"},
        verifier_protocol="grade_floats", origin="family:thin", route="persona", licence="Apache-2.0", family="thin",
        scenario_category="Office and Daily Tasks",
    )  # fmt: skip
    with context.lake.spool("test") as spool:
        for item in (task, twin, thin):
            propose(spool, item)
    context.lake.commit()
    context.lake.build(STAGE.projection)
    outcomes = {check.name: check.run(context.lake) for check in CHECKS}
    assert not outcomes["tasks_lint"].passed and "thin" in outcomes["tasks_lint"].detail
    assert not outcomes["tasks_verifiable"].passed
    assert not outcomes["tasks_distinct"].passed


def test_generator_prints_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["expense_claims", "-n", "2", "--seed", "3"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["task_id"] for line in lines] == ["expense_claims-s0003", "expense_claims-s0004"]


def test_generator_is_quick() -> None:
    """About 1,000 bundles in ten seconds, in CPU time."""
    started = time.process_time()
    count = sum(1 for _ in generate(n=5, seed=100, personas=[PERSONA]))
    assert count == 5 * len(FAMILIES)
    assert (time.process_time() - started) / count < 0.02
