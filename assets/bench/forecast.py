"""What a bench run of the profile's policies is going to ask of endpoints, before it asks.

Belongs here: which rollouts a bench run would plan. Does not belong here: the figures (`rollouts/forecast.py`).
"""

from __future__ import annotations

from assets import rollouts
from assets.bench.suites import load_suite, suite_name
from assets.rollouts.plan import PlannedAttempt
from assets.stage import Context


def preview(context: Context) -> list[PlannedAttempt]:
    """The rollouts of the profile's policies on the suite, with nothing stated in the log; checkpoints are left out.

    Raises:
        StageError: the suite has no tasks.
    """
    section = context.profile.bench
    suite = load_suite(context.lake, suite_name(context.profile))
    return rollouts.preview_batch(
        context,
        purpose="bench",
        batch=f"bench-{suite.name}",
        tasks=suite.tasks,
        policies=[name for name in section.policies if not name.startswith("checkpoint:")],
        repeats=section.repeats,
        seed=section.seed,
    )
