"""The shape of the repository: one stage word in five places, six packages, a docstring at each module's head."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from clawgym_dag.stages import STAGES
from lake.schema import TABLES

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("assets", "clawgym_dag", "dashboards", "lake", "sql", "training")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
NAMES = [stage.name for stage in STAGES]


@pytest.mark.parametrize("name", PACKAGES)
def test_top_level_name_resolves_inside_the_repository(name: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).resolve() == ROOT / name / "__init__.py"


def test_stages_stand_in_the_order_of_the_loop() -> None:
    declared = list(dict.fromkeys(table.stage for table in TABLES.values() if table.kind == "projection"))
    assert declared == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_one_word_in_every_place(name: str) -> None:
    tables = [table for table in TABLES.values() if table.stage == name]
    assert tables
    assert (ROOT / "assets" / name / "assets.py").is_file()
    assert (ROOT / "tests" / name / "__init__.py").is_file()
    assert any(table.name == name for table in tables) or name in ("rollouts", "logs", "sft", "bench"), (
        "a stage whose main table has another name than the stage; say here why: attempts, raw_records, sft_examples, "
        "bench_scores are what the field calls them"
    )


@pytest.mark.parametrize("name", NAMES)
def test_assets_module_is_the_builder_and_nothing_else(name: str) -> None:
    tree = ast.parse((ROOT / "assets" / name / "assets.py").read_text())
    statements = [node for node in tree.body if not isinstance(node, ast.Expr)]
    assert [type(node) for node in statements] == [ast.ImportFrom, ast.ImportFrom, ast.Assign]


def test_sql_folders_are_stages_or_known() -> None:
    known = {*NAMES, "views", "metrics", "examples", "overview", "lake", "llm"}
    folders = {path.name for path in (ROOT / "sql").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= known


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "a module opens with what belongs in it and what does not"
    assert len(text.splitlines()) <= 500, "two modules want to come out of this one"


@pytest.mark.parametrize("path", [*(ROOT / "sql").rglob("*.sql")], ids=lambda path: str(path.relative_to(ROOT)))
def test_sql_opens_with_a_header(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("-- ")
