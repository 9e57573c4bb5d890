"""`.env`: where it is found, and what wins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lake import environment
from lake.environment import FILE_VARIABLE, load_environment

NAMES = ("CLAWGYM_TEST_A", "CLAWGYM_TEST_B", "CLAWGYM_TEST_C")


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, "")  # so that it is put back after the test
        monkeypatch.delenv(name)
    monkeypatch.delenv(FILE_VARIABLE)
    monkeypatch.setattr(environment, "_PROJECT", tmp_path / "project")
    (tmp_path / "project").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def test_what_is_set_already_wins_and_values_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWGYM_TEST_A", "mine")
    text = "# a comment\nCLAWGYM_TEST_A=theirs\nCLAWGYM_TEST_B='k$HOME${X}#1'\nexport CLAWGYM_TEST_C=\n"
    (tmp_path / "here/.env").write_text(text)
    assert load_environment() == tmp_path / "here/.env"
    assert [os.environ[name] for name in NAMES] == ["mine", "k$HOME${X}#1", ""]


def test_the_current_folder_then_the_project_then_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_environment() is None
    (tmp_path / "project/.env").write_text("CLAWGYM_TEST_A=project\n")
    assert load_environment() == tmp_path / "project/.env"
    (tmp_path / "here/.env").write_text("CLAWGYM_TEST_A=here\n")
    assert load_environment() == tmp_path / "here/.env"
    monkeypatch.setenv(FILE_VARIABLE, "")
    assert load_environment() is None
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "project/.env"))
    assert load_environment() == tmp_path / "project/.env"


def test_the_example_names_what_is_read_and_sets_nothing() -> None:
    root = Path(__file__).resolve().parents[2]
    lines = (root / ".env.example").read_text().splitlines()
    assert all(not line or line.startswith("#") for line in lines)
    named = {line[1:].partition("=")[0] for line in lines if line.startswith("#") and "=" in line and line[1] != " "}
    code = "".join(
        path.read_text()
        for folder in ("lake", "assets", "clawgym_dag", "dashboards")
        for path in (root / folder).rglob("*.py")
    )
    assert {"OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "CLAWGYM_LAKE"} <= named
    assert [name for name in sorted(named) if f'"{name}"' not in code] == []
