"""A small task made by hand, stated in a lake, for tests that need one that never changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assets.stage import Context
from assets.tasks import STAGE as TASKS
from assets.tasks import TaskBundle
from assets.tasks.plan import Flaw, Plan, Slip, Step
from assets.tasks.propose import propose
from lake import Lake

CSV = b"name,amount\nada,3\nbob,4\neve,5\n"
PLAN = Plan(
    steps=(
        Step("exec", {"command": "ls -la"}, "explore", "I look around first."),
        Step("read", {"path": "data/sales.csv"}, "read", "Now the data."),
        Step(
            "exec",
            {"command": "mkdir -p out && awk -F, 'NR>1{s+=$2} END{print s}' data/sales.csv > out/total.txt"},
            "run",
        ),
        Step("write", {"path": "out/report.md", "content": "# Report\n\nTotal: 12\n"}, "write", "The report."),
        Step("exec", {"command": 'test "$(cat out/total.txt)" = 12 && cat out/report.md'}, "check", "I check it."),
    ),
    slips=(
        Slip(
            1, Step("read", {"path": "sales.csv"}, "read", "Now the data."), "It is not there; the listing shows data/."
        ),
    ),
    flaws=(
        Flaw(
            "wrong total",
            replace={3: Step("write", {"path": "out/report.md", "content": "# Report\n\nTotal: 11\n"}, "write")},
        ),
    ),
    closing="out/total.txt and out/report.md are done; the total is 12.",
)


def bundle(plan: Plan = PLAN, task_id: str = "handmade-s0001") -> TaskBundle:
    """The task, with another plan where a test needs one."""
    return TaskBundle(
        task_id=task_id,
        instruction="Sum data/sales.csv into out/total.txt and write out/report.md.",
        inputs={"data/sales.csv": CSV, "notes.md": b"# Notes\n"},
        reward={"check.py": b"def grade(workspace):\n    return {}\n"},
        verifier_protocol="grade_floats",
        origin="handmade",
        route="import",
        licence="Apache-2.0",
        plan=plan,
        expected_outputs=("out/report.md", "out/total.txt"),
    )


def state_tasks(context: Context, bundles: Sequence[TaskBundle]) -> list[dict[str, Any]]:
    """State tasks in the log and give back their rows."""
    lake: Lake = context.lake
    with lake.spool("tests") as spool:
        for one in bundles:
            propose(spool, one)
    lake.commit()
    lake.build(TASKS.projection)
    wanted = {one.task_id for one in bundles}
    return [row for row in lake.rows("tasks") if row["task_id"] in wanted]
