"""What the assets are given: the lake, the profile, and where to say how far they are.

Belongs here: Dagster resources. Does not belong here: what is done with them.
"""

from __future__ import annotations

from typing import Protocol

import dagster as dg

import lake
from assets.profile import Profile
from assets.stage import Progress, StageRun
from clawgym_dag.profiles import load_profile


class LakeResource(dg.ConfigurableResource[None]):
    """The lake at `root`; `CLAWGYM_LAKE`, else `./data/lake`, where it is empty."""

    root: str = ""

    def open(self) -> lake.Lake:
        """Open it, creating it where there is nothing."""
        return lake.open(self.root or None)


class ProfileResource(dg.ConfigurableResource[None]):
    """The profile `name`: a file of `clawgym_dag/profiles/`, or a path to one; then `overrides` as TOML text."""

    name: str = "demo"
    overrides: str = ""

    @property
    def profile(self) -> Profile:
        """The settings."""
        return load_profile(self.name, self.overrides)


class ProgressSource(Protocol):
    """Gives each stage its `Progress`, and hears how it went."""

    def of(self, stage: str, log: dg.DagsterLogManager) -> Progress:
        """Where the stage says how far it is."""

    def finished(self, stage: str, run: StageRun, seconds: float) -> None:
        """The stage is done."""

    def check_failed(self, table: str, check: str, detail: str) -> None:
        """A blocking check of a table did not pass."""


class LogProgress:
    """Progress as lines of the Dagster log: at the start, at the end, and at each tenth between."""

    def of(self, stage: str, log: dg.DagsterLogManager) -> Progress:
        """Where the stage says how far it is."""

        def say(message: str, done: int | None = None, total: int | None = None) -> None:
            if done is None or total is None:
                log.info(f"{stage}: {message}")
            elif done == total or done % max(1, total // 10) == 0:
                log.info(f"{stage}: {message} {done}/{total}")

        return say

    def finished(self, stage: str, run: StageRun, seconds: float) -> None:
        """Dagster records it."""

    def check_failed(self, table: str, check: str, detail: str) -> None:
        """Dagster records it."""
