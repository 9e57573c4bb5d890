"""Stage `rollouts`: attempts of the real OpenClaw on accepted tasks, each in its cage, through the recording proxy.

Belongs here: planning, scheduling, the agent (`openclaw/`), its confinement (`cage/`), the proxy, the policies that
act (`policies.py`, `teacher/`). Does not belong here: reading the logs it leaves (`logs`), grading (`verdicts`).
"""

from __future__ import annotations

from assets.rollouts.attempt import attempt_folder
from assets.rollouts.checks import CHECKS
from assets.rollouts.effect import collect, preview
from assets.rollouts.forecast import Forecast, forecast
from assets.rollouts.plan import PlannedAttempt, plan_batch, preview_batch
from assets.rollouts.policies import served_at
from assets.rollouts.projection import PROJECTION
from assets.rollouts.scheduler import reap, run_batch
from assets.stage import Stage

STAGE = Stage(
    name="rollouts",
    doc="Attempts of the real OpenClaw on accepted tasks, in their cages, through the recording proxy.",
    projection=PROJECTION,
    effect=collect,
    deps=("task_status",),
    checks=CHECKS,
)

__all__ = [
    "STAGE",
    "Forecast",
    "PlannedAttempt",
    "attempt_folder",
    "forecast",
    "plan_batch",
    "preview",
    "preview_batch",
    "reap",
    "run_batch",
    "served_at",
]
