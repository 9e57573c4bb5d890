"""Stage `verdicts`: what each attempt's final workspace is worth, as a history that is only added to.

Belongs here: grading of ended attempts and regrading. Does not belong here: probes of verifiers (`audits`), the filter
for training (`sft`).
"""

from __future__ import annotations

from assets.stage import Stage
from assets.verdicts.checks import CHECKS
from assets.verdicts.effect import grade_attempts, regrade
from assets.verdicts.projection import PROJECTION

STAGE = Stage(
    name="verdicts",
    doc="One grading of one frozen workspace, never overwritten.",
    projection=PROJECTION,
    effect=grade_attempts,
    deps=("attempts", "tasks"),
    checks=CHECKS,
)

__all__ = ["STAGE", "grade_attempts", "regrade"]
