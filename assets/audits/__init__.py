"""Stage `audits`: is a task's verifier worth its score? Probes it, decides on the task, and places it in a split.

Belongs here: probes, mutants, lints, decisions. Does not belong here: making or repairing tasks (`tasks`), grading
attempts (`verdicts`).
"""

from __future__ import annotations

from assets.audits.accepted import accepted_tasks
from assets.audits.checks import CHECKS
from assets.audits.effect import audit_tasks
from assets.audits.projection import PROJECTION
from assets.audits.report import family_report
from assets.stage import Stage

STAGE = Stage(
    name="audits",
    doc="Probes of each verifier, the decision on each task and its split.",
    projection=PROJECTION,
    effect=audit_tasks,
    deps=("tasks", "workspaces"),
    checks=CHECKS,
)

__all__ = ["STAGE", "accepted_tasks", "family_report"]
