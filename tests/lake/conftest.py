"""Fixtures: an empty lake in a temporary folder."""

from __future__ import annotations

from pathlib import Path

import pytest

import lake
from lake import Lake


@pytest.fixture
def empty(tmp_path: Path) -> Lake:
    """A new lake."""
    return lake.open(tmp_path / "lake")
