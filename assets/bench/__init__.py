"""Stage `bench`: how good policies are on held-out tasks, with n and intervals.

Belongs here: suites, bench runs, scores and comparisons. Does not belong here: running or grading attempts (the earlier
stages do that, for every purpose alike).
"""

from __future__ import annotations

from assets.bench.checks import CHECKS
from assets.bench.compare import compare
from assets.bench.effect import run_bench
from assets.bench.forecast import preview
from assets.bench.projection import PROJECTION
from assets.bench.selection import Bounds, Selection, select
from assets.bench.suites import Suite, load_suite
from assets.stage import Stage

STAGE = Stage(
    name="bench",
    doc="Scores of policies on held-out suites, with intervals; scripted teachers apart from models.",
    projection=PROJECTION,
    effect=run_bench,
    deps=("tasks", "task_status", "checkpoints"),
    checks=CHECKS,
)

__all__ = ["STAGE", "Bounds", "Selection", "Suite", "compare", "load_suite", "preview", "select"]
