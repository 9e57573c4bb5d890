"""Daily batches of rollouts: the partitions of the job `collect_batches`, and what a day changes in the profile.

Belongs here: the mapping of a day to `rollouts.batch` and `rollouts.seed`. Does not belong here: running a batch.
"""

# No `from __future__ import annotations` here: Dagster reads the annotations of decorated functions as objects.

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

import dagster as dg

from assets.profile import Profile
from lake.errors import UsageError

JOB: Final = "collect_batches"
FIRST_DAY: Final = "2026-01-01"
TAG: Final = "dagster/partition"
"""Where a run says its partition, whatever started it."""


@dg.daily_partitioned_config(start_date=FIRST_DAY, end_offset=1)
def daily(_start: datetime, _end: datetime) -> Mapping[str, Any]:
    """Partitions from `FIRST_DAY` to today, without configuration.

    A run knows its day by its tag: `dg launch --partition` sets no configuration, and what a run is configured with
    replaces all that a resource was made with.
    """
    return {}


def of_day(profile: Profile, day: str) -> Profile:
    """The profile of a day's batch.

    The seed is the day as well: a rollout is its task, policy, harness, configuration, seed and repeat whatever batch
    it is in, so that a batch with the seed of another one would find all its rollouts done and hold none.

    Args:
        day: as in `2026-03-01`.

    Raises:
        UsageError: it is no day.
    """
    try:
        seed = int(f"{date.fromisoformat(day):%Y%m%d}")
    except ValueError as error:
        raise UsageError(f"partition {day!r} is no day; give one as in {FIRST_DAY}") from error
    return profile.model_copy(update={"rollouts": profile.rollouts.model_copy(update={"batch": day, "seed": seed})})
