"""The how-to pages: the files they show are taken from the page and put to work."""

from __future__ import annotations

import importlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lake
from assets.tasks import families as registry
from assets.tasks.lint import lint, verifier_checks
from assets.tasks.taxonomy import BENCH_CATEGORIES, OFFLINE_OPERATIONS, SCENARIOS
from assets.trajectories.rules import RULES
from lake import Lake
from lake.schema import TABLES
from tests.sql.conftest import mini as mini
from tests.tasks.runner import PERSONA, Verifier, flawed, follow, mutants, run_cli, workspace

DOCS = Path(__file__).resolve().parents[1] / "docs"
SEEDS = range(6)


def files_of(page: str) -> dict[str, str]:
    """The files a page shows, by path: a fenced block behind a `<!-- file: … -->` line."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", text, re.S))


@pytest.fixture
def stock_count(tmp_path: Path) -> Iterator[str]:
    """The family of the page, found as those in the folder are."""
    for path, content in files_of("howto-family.md").items():
        target = tmp_path / Path(path).relative_to("assets/tasks/families")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
    registry.__path__.append(str(tmp_path))
    registry.families.cache_clear()
    importlib.invalidate_caches()
    yield "stock_count"
    registry.__path__.remove(str(tmp_path))
    registry.families.cache_clear()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_family_of_the_page_does_what_the_page_says(stock_count: str, seed: int) -> None:
    family = registry.families()[stock_count]
    task = family.generate(seed, PERSONA)
    assert task == family.generate(seed, PERSONA)
    assert lint(task) == []
    assert family.bench_category in BENCH_CATEGORIES and set(family.operations) <= set(OFFLINE_OPERATIONS)
    assert all(setting.subcategory in SCENARIOS[setting.category] for setting in family.settings)
    assert len(verifier_checks(task.reward["check.py"].decode())) >= 6
    oracle = dict(task.oracle or {})
    with workspace(task.inputs) as root:
        assert set(run_cli(task, root).values()) == {0}
    with workspace(task.inputs, oracle) as root:
        assert set(run_cli(task, root).values()) == {1}
    verifier = Verifier(task)
    with workspace(task.inputs, dict.fromkeys(oracle, b"placeholder\n")) as root:
        assert verifier.score(root) < 0.1
    damaged = [(path, name, bad) for path, good in oracle.items() for name, bad in mutants(path, good)]
    unnoticed = []
    for path, name, bad in damaged:
        with workspace(task.inputs, oracle, {path: bad}) as root:
            if verifier.score(root) == 1:
                unnoticed.append(name)
    assert len(unnoticed) <= 0.05 * len(damaged), unnoticed


@pytest.mark.parametrize("seed", SEEDS)
def test_its_plan_earns_everything_and_its_flaws_cost_what_they_say(stock_count: str, seed: int) -> None:
    task = registry.families()[stock_count].generate(seed, PERSONA)
    assert task.plan is not None
    verifier = Verifier(task)
    with workspace(task.inputs) as root:
        assert not any(follow(root, task.plan.steps))
        assert verifier.score(root) == 1
    for slip in task.plan.slips:
        with workspace(task.inputs) as root:
            follow(root, task.plan.steps[: slip.before])
            assert follow(root, [slip.step])[0] is not None
    for flaw in task.plan.flaws:
        with workspace(task.inputs) as root:
            follow(root, flawed(task.plan, flaw))
            score = verifier.score(root)
        assert score < 1 and (score >= 0.5) == (flaw.loss == "small"), (flaw.name, score)


def test_the_test_of_a_rule_passes() -> None:
    (block,) = re.findall(r"```python\n(from tests.*?)```", (DOCS / "howto-rule.md").read_text(encoding="utf-8"), re.S)
    names: dict[str, Any] = {}
    exec(compile(block, "howto-rule.md", "exec"), names)
    names["test_reply_directives_are_left_out"]()
    assert "reply_tag" in RULES


def test_the_table_of_the_page_is_built_and_replayed(
    mini: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "howto-table.md").read_text(encoding="utf-8"), re.S):
        exec(compile(block, "howto-table.md", "exec"), names)
    monkeypatch.setitem(TABLES, "tool_use", names["TOOL_USE"])
    shutil.copytree(mini.root, tmp_path / "lake")
    opened = lake.open(tmp_path / "lake")
    built = opened.build(names["PROJECTION"])
    (calls,) = opened.sql("select count(*) from tool_calls").fetchone() or (0,)
    (counted,) = opened.sql("select sum(calls) from tool_use").fetchone() or (0,)
    assert built.rows["tool_use"] > 0 and counted == calls > 0
    assert opened.build(names["PROJECTION"]).skipped
