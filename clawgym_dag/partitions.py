"""Daily batches of rollouts: the job `collect_batches`, a partition a day, and what a partition changes in the profile.

Belongs here: the mapping of a day to `rollouts.batch` and `rollouts.seed`. Does not belong here: running a batch.
"""

# No `from __future__ import annotations` here: Dagster reads the annotations of decorated functions as objects.

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import dagster as dg

JOB: Final = "collect_batches"
FIRST_DAY: Final = "2026-01-01"


@dg.daily_partitioned_config(start_date=FIRST_DAY, end_offset=1)
def daily_batch(start: datetime, _end: datetime) -> Mapping[str, Any]:
    """Run configuration of a day.

    The seed is the day as well: a rollout is its task, policy, harness, seed and repeat whatever batch it is in, so
    that a batch with the seed of another one would find all its rollouts done and hold none.
    """
    overrides = f'rollouts.batch = "{start:%Y-%m-%d}"\nrollouts.seed = {start:%Y%m%d}\n'
    return {"resources": {"profile": {"config": {"overrides": overrides}}}}
