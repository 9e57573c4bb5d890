"""The stage's own batch: the profile's policies on the accepted tasks of the splits that are trained on.

Belongs here: which tasks are collected on. Does not belong here: planning and running (`plan.py`, `scheduler.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from assets.audits import accepted_tasks
from assets.rollouts.plan import PlannedAttempt, Purpose, plan_batch, preview_batch
from assets.rollouts.scheduler import run_batch
from assets.stage import Context

SPLITS = ("train", "validation")


class _Batch(TypedDict):
    """Arguments of `plan_batch`."""

    purpose: Purpose
    batch: str
    tasks: Sequence[Mapping[str, Any]]
    policies: Sequence[str]
    repeats: int
    seed: int


def collect(ctx: Context) -> Mapping[str, int]:
    """Plan and run the profile's rollouts with purpose `collect`.

    Raises:
        As `run_batch`.
    """
    attempts = plan_batch(ctx, **_batch(ctx))
    counts = Counter(run_batch(ctx, attempts))
    return dict(sorted({"rollouts": len(attempts), **counts}.items()))


def preview(ctx: Context) -> list[PlannedAttempt]:
    """What `collect` would plan, with nothing stated in the log."""
    return preview_batch(ctx, **_batch(ctx))


def _batch(ctx: Context) -> _Batch:
    settings = ctx.profile.rollouts
    tasks = [
        task
        for split in SPLITS
        for task in accepted_tasks(ctx.lake, split)
        if not settings.families or task["family"] in settings.families
    ]
    return {
        "purpose": "collect",
        "batch": settings.batch,
        "tasks": sorted(tasks, key=lambda task: (task["task_id"], task["task_version"])),
        "policies": settings.policies,
        "repeats": settings.repeats,
        "seed": settings.seed,
    }
