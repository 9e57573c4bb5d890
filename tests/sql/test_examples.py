"""The worked examples: each runs read-only and gives its golden output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lake
import sql
from lake import Lake
from tests.sql import golden

EXAMPLES = sql.names("examples")


def test_there_are_enough_examples_and_no_stray_golden_file() -> None:
    assert len(EXAMPLES) >= 10
    assert {golden.path(name) for name in EXAMPLES} == set(golden.GOLDEN.iterdir())


@pytest.mark.parametrize("name", EXAMPLES)
def test_output_is_the_golden_one(mini: Lake, name: str) -> None:
    assert golden.render(mini, sql.load(name)) == golden.path(name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXAMPLES)
def test_on_an_empty_lake_it_runs_and_says_nothing_untrue(name: str, empty: Lake) -> None:
    rows = empty.sql(sql.load(name), read_only=True).fetchall()
    assert rows == [] or all(value in (0, None) for row in rows for value in row)


def test_title_is_a_question() -> None:
    assert [name for name in EXAMPLES if not sql.title(name).endswith(("?", "."))] == []


def test_the_command_line_runs_an_example(mini: Lake) -> None:
    name = "examples/04_error_rate_per_tool"
    command = [str(Path(sys.executable).parent / "clawgym"), "sql", "--csv", "-f", str(sql.ROOT / f"{name}.sql")]
    environment = {**os.environ, "CLAWGYM_LAKE": str(mini.root)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace(",", "\t") == golden.path(name).read_text(encoding="utf-8")


def test_an_unknown_file_is_named_with_what_there_is() -> None:
    with pytest.raises(KeyError, match=r"no SQL file 'examples/nothing'.*examples/01_"):
        sql.load("examples/nothing")
    with pytest.raises(KeyError):
        sql.load("../pyproject")


def test_golden_lake_is_the_same_lake_every_time(mini: Lake, tmp_path: Path) -> None:
    from tests.sql import minilake

    again = minilake.build(tmp_path / "lake")
    for name in ("tasks", "trajectories", "tool_calls", "verdicts", "bench_scores"):
        assert again.table(name).equals(mini.table(name)), name
    assert lake.open(again.root).rows("snapshots")[0]["reason"] == "minilake"
