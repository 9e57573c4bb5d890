"""Lakes and short-lived settings for the tests of the stage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import lake
from assets.profile import Profile, RolloutsSection
from assets.stage import Context

MakeContext = Callable[..., Context]


@pytest.fixture
def make_context(tmp_path: Path) -> MakeContext:
    """A context on the test's own lake; keyword arguments are settings of the section `rollouts`."""

    def make(**settings: object) -> Context:
        section = RolloutsSection.model_validate({"time_limit_s": 60.0, "concurrency": 1, **settings})
        return Context(lake.open(tmp_path / "lake"), Profile(rollouts=section))

    return make
