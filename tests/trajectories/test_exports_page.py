"""The page about exports: its commands and its Python are run, and its tables are what there is."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from assets.trajectories.exports import FORMATS, Filters, export
from clawgym_dag.cli.main import main
from lake import Lake
from tests.sql import minilake

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto-export.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake whose tasks have splits, and most of its attempts verdicts."""
    return minilake.build(tmp_path_factory.mktemp("page") / "lake")


def test_commands_and_python_of_the_page_run(graded: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWGYM_LAKE", str(graded.root))
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


def test_what_is_held_out_is_in_no_other_split(graded: Lake, tmp_path: Path) -> None:
    export(graded, tmp_path / "dataset", format="hf")
    split_of = dict(
        graded.sql("select task_id || task_version, split from task_status where status = 'accepted'").fetchall()
    )
    found: dict[str, set[str]] = {}
    for path in sorted((tmp_path / "dataset" / "data").iterdir()):
        matched = re.fullmatch(r"(\w+)-00000-of-00001\.parquet", path.name)
        assert matched is not None
        name = matched[1]
        found.setdefault(name, set()).update(
            split_of[row["task_id"] + row["task_version"]].split(":")[0] for row in pq.read_table(path).to_pylist()
        )
    assert found == {name: {name} for name in ("bench", "train", "validation")}


@pytest.mark.parametrize(
    ("filters", "condition"),
    [
        (Filters(min_score=0.5), "score_code >= 0.5"),
        (Filters(counted=True), "counted"),
        (Filters(policy="weak", class_="normal", min_score=0.2, counted=True),
         "contains(policy, 'weak') and class = 'normal' and score_code >= 0.2 and counted"),
    ],
)  # fmt: skip
def test_filters_on_scores_and_attempts(filters: Filters, condition: str, graded: Lake, tmp_path: Path) -> None:
    export(graded, tmp_path / "out.jsonl", format="atif", filters=filters)
    found = [json.loads(line)["trajectory_id"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    query = f"select trajectory_id from trajectory_overview where {condition} order by 1"
    expected = [row[0] for row in graded.sql(query).fetchall()]
    every = graded.table("trajectories").num_rows
    assert found == expected and 0 < len(found) < every


def test_its_table_has_every_format() -> None:
    table = PAGE.split("| `--format` | written | for |")[1].split("##")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == set(FORMATS)
