"""Stage `tasks`: proposes executable workspace tasks, each with inputs, verifier, oracle and plan.

Belongs here: families, routes, formats of import and export. Does not belong here: acceptance (`audits`).
"""

from __future__ import annotations

from assets.stage import Stage
from assets.tasks.bundle import TaskBundle
from assets.tasks.checks import CHECKS
from assets.tasks.effect import propose_all
from assets.tasks.projection import PROJECTION, load_bundle
from assets.tasks.propose import generate

STAGE = Stage(
    name="tasks",
    doc="Executable workspace tasks as proposed, with inputs, verifier, oracle and plan.",
    projection=PROJECTION,
    effect=propose_all,
    deps=("personas", "skills"),
    checks=CHECKS,
)

__all__ = ["STAGE", "TaskBundle", "generate", "load_bundle"]
