"""A bench run that a spend cap stopped is not over: it is gone on with, not scored with holes."""

from __future__ import annotations

import pytest

from assets.bench.effect import _settled


@pytest.mark.parametrize(
    ("state", "ending", "settled"),
    [
        ("ended", "finished", True),
        ("ended", "model_endpoint", True),
        ("lost", "lost", True),
        ("ended", "spend_cap", False),
        ("planned", None, False),
        ("running", None, False),
    ],
)
def test_what_is_settled(state: str, ending: str | None, settled: bool) -> None:
    assert _settled({"state": state, "ending": ending}) is settled
