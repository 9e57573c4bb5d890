"""Fixtures: an empty lake in a temporary folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import lake
from lake import Lake


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new lake, to be copied: making every table anew costs more than most tests."""
    return lake.open(tmp_path_factory.mktemp("template") / "lake").root


@pytest.fixture
def empty(template: Path, tmp_path: Path) -> Lake:
    """A new lake."""
    shutil.copytree(template, tmp_path / "lake")
    return lake.open(tmp_path / "lake")
