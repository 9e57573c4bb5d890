"""Stage `workspaces`: the initial state of each task, laid out and looked at.

Belongs here: materialised inputs, formats, parse results, missing inputs. Final workspaces belong to `rollouts`.
"""

from __future__ import annotations

from assets.stage import Stage
from assets.workspaces.effect import prepare_workspaces
from assets.workspaces.projection import CHECKS, PROJECTION

STAGE = Stage(
    name="workspaces",
    doc="Files of the initial workspaces, with the checks of resource preparation.",
    projection=PROJECTION,
    effect=prepare_workspaces,
    deps=("tasks",),
    checks=CHECKS,
)

__all__ = ["STAGE"]
