"""The stage's own batch: the profile's policies on the accepted tasks of the splits that are trained on.

Belongs here: which tasks are collected on. Does not belong here: planning and running (`plan.py`, `scheduler.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from assets.audits import accepted_tasks
from assets.rollouts.plan import plan_batch
from assets.rollouts.scheduler import run_batch
from assets.stage import Context

SPLITS = ("train", "validation")


def collect(ctx: Context) -> Mapping[str, int]:
    """Plan and run the profile's rollouts with purpose `collect`.

    Raises:
        As `run_batch`.
    """
    settings = ctx.profile.rollouts
    tasks = [task for split in SPLITS for task in accepted_tasks(ctx.lake, split)]
    attempts = plan_batch(
        ctx,
        purpose="collect",
        batch=settings.batch,
        tasks=sorted(tasks, key=lambda task: (task["task_id"], task["task_version"])),
        policies=settings.policies,
        repeats=settings.repeats,
        seed=settings.seed,
    )
    counts = Counter(run_batch(ctx, attempts))
    return dict(sorted({"rollouts": len(attempts), **counts}.items()))
