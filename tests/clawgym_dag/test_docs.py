"""README and generated pages: what they say exists, and what they show works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from clawgym_dag.docs import outdated
from clawgym_dag.stages import STAGES
from lake.schema import TABLES
from tests.clawgym_dag.conftest import Call
from tests.clawgym_dag.test_cli import ALL

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _shown(page: Path) -> str:
    """The console blocks of a page."""
    return "\n".join(re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.S))


def test_generated_pages_are_current() -> None:
    assert outdated() == []


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md")))])
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_stage_table_of_the_readme_is_the_schema() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| ([`\w, ]+) \|$", README, re.M)
    said = {stage: set(re.findall(r"`(\w+)`", tables)) for stage, tables in rows}
    assert list(said) == [stage.name for stage in STAGES]
    assert said == {stage.name: {t.name for t in TABLES.values() if t.stage == stage.name} for stage in STAGES}


def test_every_command_is_in_the_readme_and_no_other() -> None:
    said: set[tuple[str, ...]] = set()
    for line in re.findall(r"^\| `clawgym ([^`]+)` \|", README, re.M):
        words = line.replace("\\|", "|").split()
        verbs = [word for word in words[1:2] if word.islower()]
        said |= {(words[0], verb) for verb in verbs[0].split("|")} if verbs else {(words[0],)}
    assert said == set(ALL)


PAGES = sorted((ROOT / "docs").glob("*.md"))
LINES = [(page.name, line) for page in PAGES for line in re.findall(r"clawgym ([a-z][^`\n]*)", _shown(page))]


@pytest.mark.parametrize(("page", "line"), LINES)
def test_commands_of_the_pages_exist_with_their_options(page: str, line: str) -> None:
    words = shlex.split(line.split(" | ")[0].split(" && ")[0], comments=True)
    path = next(path for path in (tuple(words[:2]), tuple(words[:1])) if path in ALL)
    known = {option for parameter in ALL[path].params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_sql_of_the_readme_runs(call: Call, mini: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    lines = re.findall(r"^\$ \.venv/bin/clawgym (sql .+)$", README, re.M)
    assert len(lines) >= 2
    for line in lines:
        called = call(*shlex.split(line))
        assert called.code == 0, called.err


def test_python_of_the_readme_runs(mini: Path) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, re.S)
    exec(compile(block, "README.md", "exec"), {})  # the page's own example


def test_make_targets_named_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"`?make (\w[\w-]*)", README)) - {"tasks", "and", "git"}:
        assert re.search(rf"^{target}:", makefile, re.M), target
