"""The contract of a stage: an optional effect that appends to the log, then a projection that writes its tables.

Belongs here: the shape every stage has, without Dagster. Each stage exports `STAGE` from `assets/<stage>/__init__.py`
and turns it into Dagster assets in `assets/<stage>/assets.py`. Does not belong here: what any stage does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from assets.profile import Profile
from lake import Built, Lake, Projection


class Progress(Protocol):
    """Where a stage says how far it is."""

    def __call__(self, message: str, done: int | None = None, total: int | None = None) -> None:
        """Say it; `done` of `total` where countable."""


def quiet(message: str, done: int | None = None, total: int | None = None) -> None:
    """A `Progress` that says nothing."""


@dataclass(frozen=True)
class Context:
    """What an effect gets."""

    lake: Lake
    profile: Profile
    run_id: str | None = None
    progress: Progress = quiet


@dataclass(frozen=True)
class CheckOutcome:
    """Result of a stage's own check over its tables."""

    passed: bool
    detail: str
    """One line with the figures."""
    metadata: Mapping[str, int | float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class StageCheck:
    """A blocking check of a stage, shown in the Dagster UI beside those that follow from the schema."""

    name: str
    table: str
    """The table (asset) it belongs to."""
    run: Callable[[Lake], CheckOutcome]
    doc: str


@dataclass(frozen=True)
class Stage:
    """One stage of the loop."""

    name: str
    doc: str
    projection: Projection
    effect: Callable[[Context], Mapping[str, int]] | None = None
    """Does what is not done yet (never repeats a key that is in the log), commits, and says counts: what was done,
    found done, failed. Raises only for what makes the whole stage impossible."""
    deps: tuple[str, ...] = ()
    """Tables the effect reads, beyond those of the projection."""
    checks: tuple[StageCheck, ...] = ()


@dataclass(frozen=True)
class StageRun:
    """What running a stage did."""

    effect: Mapping[str, int]
    built: Built


def run_stage(stage: Stage, context: Context) -> StageRun:
    """Effect, commit, projection. Safe to run again at any time."""
    counts: Mapping[str, int] = {}
    if stage.effect is not None:
        counts = stage.effect(context)
        context.lake.commit()
    return StageRun(counts, context.lake.build(stage.projection))
