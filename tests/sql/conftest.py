"""The small synthetic lake, built once a session."""

from __future__ import annotations

import pytest

import lake
from lake import Lake
from tests.sql import minilake


@pytest.fixture(scope="session")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return minilake.build(tmp_path_factory.mktemp("mini") / "lake")


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake.open(tmp_path_factory.mktemp("empty") / "lake")
