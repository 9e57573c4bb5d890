"""A command line to call, and a synthetic lake to call it on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from clawgym_dag.cli import main
from tests.sql import minilake


@dataclass
class Called:
    """What a call of the command line gave."""

    code: int
    out: str
    err: str


Call = Callable[..., Called]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*arguments: str) -> Called:
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        return Called(code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def mini_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return minilake.build(tmp_path_factory.mktemp("cli") / "lake").root


@pytest.fixture
def mini(mini_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The synthetic lake as the one the command line finds by itself."""
    monkeypatch.setenv("CLAWGYM_LAKE", str(mini_root))
    return mini_root
