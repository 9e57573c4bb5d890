"""The page about exports: its commands and its Python are run, and its tables are what there is."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from assets.trajectories.exports import FORMATS
from clawgym_dag.cli import main
from tests.sql import minilake

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto-export.md").read_text(encoding="utf-8")


def test_commands_and_python_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWGYM_LAKE", str(minilake.build(tmp_path / "lake").root))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^\$ clawgym (.+)$", PAGE, re.M)
    assert {name for name in FORMATS if any(f"--format {name}" in line for line in commands)} == set(FORMATS) - {"trl"}
    for line in commands:
        assert main(shlex.split(line)) == 0, line
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    names: dict[str, object] = {}
    exec(compile(code, "howto-export.md", "exec"), names)
    assert names["trajectory"] is not None and names["row"] is not None

    said = set(re.findall(r"`(\w+)`", PAGE.split("| `not_held` | what |")[1].split("##")[0]))
    reports = [json.loads(path.read_text()) for path in tmp_path.glob("**/*report.json")]
    assert len(reports) == len(commands)
    assert {name for report in reports for name in report["not_held"]} == said - {"weight", "unknown"}


def test_its_table_has_every_format() -> None:
    table = PAGE.split("| `--format` | written | for |")[1].split("##")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == set(FORMATS)
