"""Resource preparation: files as laid out, formats, parse results, missing and unusable inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

import lake
from assets.profile import PersonasSection, Profile, SkillsSection, TasksSection
from assets.sandbox.folder import workspace_id_of
from assets.stage import Context, run_stage
from assets.tasks import STAGE as TASKS
from assets.tasks import TaskBundle, generate
from assets.tasks.formats import format_of, parse_problem
from assets.tasks.propose import propose
from assets.workspaces import STAGE
from assets.workspaces.effect import prepared
from lake import Lake


def _bundle(inputs: dict[str, bytes], instruction: str = "Read input/a.csv.") -> TaskBundle:
    return TaskBundle(
        task_id="t1", instruction=instruction, inputs=inputs, reward={"check.py": b"print(0)\n"},
        verifier_protocol="grade_floats", origin="test", route="persona", licence="Apache-2.0",
        expected_outputs=("output/x.json",),
    )  # fmt: skip


def _proposed(tmp_path: Path, *bundles: TaskBundle) -> Context:
    context = Context(lake.open(tmp_path / "lake"), Profile())
    with context.lake.spool("test") as spool:
        for bundle in bundles:
            propose(spool, bundle)
    context.lake.commit()
    context.lake.build(TASKS.projection)
    return context


def _passed(opened: Lake) -> dict[str, bool]:
    return {check.name: check.run(opened).passed for check in STAGE.checks}


def test_families_are_prepared_once(tmp_path: Path) -> None:
    context = _proposed(tmp_path, *generate(n=1))
    first = run_stage(STAGE, context)
    tasks = context.lake.rows("tasks")
    assert dict(first.effect) == {"prepared": len(tasks), "found": 0, "unusable": 0}
    assert dict(run_stage(STAGE, context).effect) == {"prepared": 0, "found": len(tasks), "unusable": 0}
    assert _passed(context.lake) == {"workspaces_complete": True, "workspaces_parse": True}
    rows = context.lake.rows("workspaces")
    assert len(rows) == sum(task["input_count"] for task in tasks)
    bundle = next(iter(generate(n=1)))
    assert {r["workspace_id"] for r in rows if r["task_id"] == bundle.task_id} == {workspace_id_of(bundle.inputs)}


def test_missing_inputs_are_rows_and_fail_the_check(tmp_path: Path) -> None:
    text = "Read input/a.csv and input/b.log, write output/x.json and output/y.json."
    context = _proposed(tmp_path, _bundle({"input/a.csv": b"x\n1\n"}, text))
    run_stage(STAGE, context)
    rows = {row["path"]: row for row in context.lake.rows("workspaces")}
    assert {path: row["kind"] for path, row in rows.items()} == {"input/a.csv": "file", "input/b.log": "missing"}
    assert rows["input/b.log"]["sha256"] is None and rows["input/a.csv"]["parses"] is True
    assert _passed(context.lake)["workspaces_complete"] is False


def test_inputs_that_cannot_be_laid_out_are_data(tmp_path: Path) -> None:
    for inputs in ({"../up.txt": b"x"}, {"/etc/x": b"x"}, {"a": b"x", "a/b": b"y"}):
        payload = prepared(_bundle(inputs))
        assert payload["workspace_id"] is None and payload["note"]
    context = _proposed(tmp_path, _bundle({"../up.txt": b"x"}))
    assert dict(run_stage(STAGE, context).effect) == {"prepared": 0, "found": 0, "unusable": 1}
    assert _passed(context.lake)["workspaces_complete"] is False


@pytest.mark.parametrize(
    ("path", "content", "name", "parses"),
    [
        ("a.csv", b"x,y\n1,2\n", "csv", True),
        ("a.csv", b"x,y\n1\n", "csv", False),
        ("a.json", b"{", "json", False),
        ("a.jsonl", b"{}\n\n[]\n", "jsonl", True),
        ("a.jsonl", b"{}\n{\n", "jsonl", False),
        ("a.yaml", b"a: [\n", "yaml", False),
        ("a.toml", b"a = 1\n", "toml", True),
        ("a.ini", b"a = 1\n", "ini", False),
        ("a.py", b"def f(:\n", "py", False),
        ("a.html", b"<p>x", "html", True),
        ("a.md", b"# x\n", "md", None),
        ("a.log", b"\xff\n", "log", False),
        ("data", b"\x00\xff", "binary", None),
        ("data", b"text", "text", None),
    ],
)
def test_formats(path: str, content: bytes, name: str, parses: bool | None) -> None:
    assert format_of(path, content) == name
    found, note = parse_problem(name, content)
    assert found is parses
    assert (note is not None) == (parses is False)


def test_whole_chain_from_an_empty_lake(tmp_path: Path) -> None:
    from assets.personas import STAGE as PERSONAS
    from assets.skills import STAGE as SKILLS

    (tmp_path / "skills").mkdir()
    profile = Profile(
        personas=PersonasSection(count=14),
        skills=SkillsSection(sources=(str(tmp_path / "skills"),)),
        tasks=TasksSection(families=("expense_claims",), seeds_per_family=2),
    )
    context = Context(lake.open(tmp_path / "lake"), profile)
    for stage in (PERSONAS, SKILLS, TASKS, STAGE):
        run_stage(stage, context)
    assert len(context.lake.rows("workspaces")) == 6
