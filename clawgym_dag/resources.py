"""What the assets are given: the lake, the profile, and where to say how far they are.

Belongs here: Dagster resources. Does not belong here: what is done with them.
"""

from __future__ import annotations

import os
from typing import Final, Protocol

import dagster as dg
from pydantic import PrivateAttr

import lake
from assets.profile import LogsSection, Profile
from assets.stage import Progress, StageRun
from clawgym_dag.partitions import TAG, of_day
from clawgym_dag.profiles import load_profile

PROFILE_VARIABLE: Final = "CLAWGYM_PROFILE"
"""Profile of the runs that Dagster starts: a name or the path of a .toml file."""

LOGS_VARIABLE: Final = "CLAWGYM_LOGS"
"""Places of logs, separated as in PATH; instead of the profile's `logs.paths`."""


class LakeResource(dg.ConfigurableResource[None]):
    """The lake at `root`; `CLAWGYM_LAKE`, else `./data/lake`, where it is empty."""

    root: str = ""

    def open(self) -> lake.Lake:
        """Open it, creating it where there is nothing."""
        return lake.open(self.root or None)


class ProfileResource(dg.ConfigurableResource[None]):
    """The profile `name`: a file of `clawgym_dag/profiles/`, or a path to one; then `overrides` as TOML text.

    Where `name` is empty the environment says it: `CLAWGYM_PROFILE`, else `demo`, with the places in `CLAWGYM_LOGS`.
    The command line names its profile, so that what was asked for there is not changed by the environment. In
    the run of a partition it is the profile of that day's batch.
    """

    name: str = ""
    overrides: str = ""
    _day: str = PrivateAttr(default="")

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Learn the partition of the run; a sensor has no run."""
        self._day = context.run.tags.get(TAG, "") if context.run is not None else ""

    @property
    def profile(self) -> Profile:
        """The settings."""
        profile = self._named()
        return of_day(profile, self._day) if self._day else profile

    def _named(self) -> Profile:
        if self.name:
            return load_profile(self.name, self.overrides)
        profile = load_profile(os.environ.get(PROFILE_VARIABLE) or "demo", self.overrides)
        places = tuple(filter(None, os.environ.get(LOGS_VARIABLE, "").split(os.pathsep)))
        return profile.model_copy(update={"logs": LogsSection(paths=places)}) if places else profile


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
