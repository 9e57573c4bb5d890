"""`docs/howto-synthesis.md` and its profile: its SQL runs, its settings exist, its list of failures is whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from assets.llm.failures import Failure
from assets.llm.question import ROLES
from assets.profile import Profile
from clawgym_dag.profiles import load_profile
from lake import Lake
from tests.sql.conftest import mini as mini

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto-synthesis.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("query", re.findall(r'clawgym sql "([^"]+)"', PAGE))
def test_its_sql_runs(mini: Lake, query: str) -> None:
    mini.sql(query, read_only=True).fetchall()


def test_the_settings_it_names_exist() -> None:
    sections = Profile.model_fields
    named = [name for name in re.findall(r"`([a-z_]+\.[a-z_]+)`", PAGE) if name.split(".")[0] in sections]
    assert len(named) >= 8
    for name in named:
        section, key = name.split(".")
        assert hasattr(getattr(Profile(), section), key), name


def test_every_role_has_a_model_in_the_profile() -> None:
    settings = load_profile("synthesis")
    assert {role for role in ROLES if getattr(settings.llm, role).model} == set(ROLES)
    assert settings.llm.token_limit and settings.synthesis.persona_tasks and settings.synthesis.skill_tasks
    assert all(f"`[llm.{role}]`" in PAGE for role in ROLES)


def test_every_way_to_fail_is_explained() -> None:
    explained = set(re.findall(r"`([a-z_]+)`", PAGE))
    assert set(get_args(Failure)) - {"unanswered"} <= explained
