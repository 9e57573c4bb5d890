"""A fresh lake for each test of ingest."""

from __future__ import annotations

from pathlib import Path

import pytest

import lake
from assets.profile import Profile
from assets.stage import Context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    """A context over an empty lake."""
    return Context(lake.open(tmp_path / "lake"), Profile())
