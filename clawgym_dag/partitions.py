"""Daily batches of rollouts: the partitions of the job `collect_batches`, and what a day changes in the profile.

Belongs here: the mapping of a day to `rollouts.batch` and `rollouts.seed`. Does not belong here: running a batch.
"""

# No `from __future__ import annotations` here: Dagster reads the annotations of decorated functions as objects.

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import dagster as dg

from assets.profile import Profile

JOB: Final = "collect_batches"
FIRST_DAY: Final = "2026-01-01"


def of_day(profile: Profile, day: str) -> Profile:
    """The profile of a day's batch.

    The seed is the day as well: a rollout is its task, policy, harness, configuration, seed and repeat whatever batch
    it is in, so that a batch with the seed of another one would find all its rollouts done and hold none.

    Args:
        day: as in `2026-03-01`.
    """
    seed = int(day.replace("-", ""))
    return profile.model_copy(update={"rollouts": profile.rollouts.model_copy(update={"batch": day, "seed": seed})})


def daily(profile: Mapping[str, str]) -> "dg.PartitionedConfig[Any]":
    """Partitions from `FIRST_DAY` to today, each with the run configuration of its day.

    Args:
        profile: configuration of the resource `profile`. It is repeated in each run's, since configuration of a run
            replaces all of what a resource was made with.
    """

    @dg.daily_partitioned_config(start_date=FIRST_DAY, end_offset=1)
    def config(start: datetime, _end: datetime) -> Mapping[str, Any]:
        return {"resources": {"profile": {"config": {**profile, "day": f"{start:%Y-%m-%d}"}}}}

    return config
