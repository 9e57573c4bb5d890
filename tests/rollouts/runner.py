"""A runner in a process of its own, for tests that kill it: `python -m tests.rollouts.runner LAKE SETTINGS [STEP]`.

It states the hand-made task (with a slow step where asked), plans and runs it, and prints the counts as JSON.
"""

from __future__ import annotations

import json
import sys

import lake
from assets.profile import Profile, RolloutsSection
from assets.rollouts import STAGE, run_batch
from assets.stage import Context
from assets.tasks.plan import Step
from tests.rollouts.handmade import bundle
from tests.rollouts.runs import plan, plan_of

SLOW = plan_of(
    Step("exec", {"command": "echo begun > begun.txt"}, "run"),
    Step("exec", {"command": "test -e /tmp/once || sleep 8; touch /tmp/once; echo done > done.txt"}, "run"),
)


def main(root: str, settings: str) -> None:
    section = RolloutsSection.model_validate({"concurrency": 1, "time_limit_s": 150.0, **json.loads(settings)})
    context = Context(lake.open(root), Profile(rollouts=section))
    counts = run_batch(context, plan(context, [bundle(SLOW, "slow")]))
    context.lake.build(STAGE.projection)
    print(json.dumps(dict(counts)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
