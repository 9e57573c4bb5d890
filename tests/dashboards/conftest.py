"""Lakes for the pages, and the harness that opens them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import dashboards
import lake
from lake import Lake
from tests.sql import minilake

APP = Path(dashboards.__file__).with_name("app.py")

Open = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Streamlit's harness leaves the app as `__main__`; processes that later tests start would then run the app."""
    before = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = before


@pytest.fixture(scope="session")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return minilake.build(tmp_path_factory.mktemp("pages") / "lake")


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake.open(tmp_path_factory.mktemp("empty") / "lake")


@pytest.fixture
def open_page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens a page of a lake: `open_page(lake, "tasks", id=…)`; fails when the page raised."""

    def opener(root: Path, page: str = "overview", **query: str) -> AppTest:
        monkeypatch.setenv("CLAWGYM_LAKE", str(root))
        app = AppTest.from_file(str(APP), default_timeout=60)
        for name, value in query.items():
            app.query_params[name] = value
        app.switch_page(f"screens/{page}.py")
        app.run()
        assert not app.exception, [error.value for error in app.exception]
        return app

    yield opener
