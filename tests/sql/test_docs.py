"""`docs/sql.md`: its SQL and Python run, and its lists are complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sql
from lake import Lake
from lake.engine import view_definitions

PAGE = (Path(sql.__file__).parent.parent / "docs" / "sql.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("query", blocks("sql"))
def test_its_sql_runs(mini: Lake, query: str) -> None:
    assert mini.sql(query, read_only=True).fetchall()


def test_queries_of_its_command_lines_run(mini: Lake) -> None:
    queries = re.findall(r'clawgym sql[^"\n]*"([^"]+)"', "\n".join(blocks("bash")))
    assert len(queries) == 3
    for query in queries:
        assert mini.sql(query, read_only=True).fetchall()


def test_its_python_runs(mini: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CLAWGYM_LAKE", str(mini.root))
    (code,) = blocks("python")
    exec(compile(code, "docs/sql.md", "exec"), {})
    assert "scripted:strong@1" in capsys.readouterr().out


def test_every_view_and_every_example_is_listed() -> None:
    assert set(re.findall(r"^\| `([a-z_]+)` \|", PAGE, re.MULTILINE)) == set(view_definitions())
    listed = dict(re.findall(r"^\| `(\d\d_[a-z_]+)` \| (.*) \|$", PAGE, re.MULTILINE))
    assert set(listed) == {name.split("/")[1] for name in sql.names("examples")}
    for name, question in listed.items():
        assert sql.title(f"examples/{name}").startswith(question)
