"""Upcasters: old event shapes read as the newest one. Stored bytes never change.

Belongs here: pure functions from the payload of one version of an event type to the next. Does not belong here:
defaults that a projection could decide by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lake.ids import Json

Upcaster = Callable[[Json], Json]

UPCASTERS: Final[dict[tuple[str, int], Upcaster]] = {}
"""(event type, version it reads) to the function that gives the payload of the next version."""


def upcast(type_: str, version: int, payload: Json) -> tuple[int, Json]:
    """The payload in its newest shape, and that shape's version."""
    while (step := UPCASTERS.get((type_, version))) is not None:
        version, payload = version + 1, step(payload)
    return version, payload
