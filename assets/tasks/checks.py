"""Checks over the table `tasks`, by lint of every bundle and by counting.

Belongs here: what blocks the stage. Does not belong here: the rules of lint (`lint.py`), running verifiers (`audits`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from assets.stage import CheckOutcome, StageCheck
from assets.tasks.bundle import TaskBundle
from assets.tasks.lint import families_verifiable, lint
from assets.tasks.projection import load_bundles
from lake import Lake

MAX_SHARE: Final = 0.125
"""Largest share of a scenario category in a full set (the original's rule)."""
FULL_SET: Final = 12
"""Families from which a set counts as full."""


def _over_bundles(problems: Callable[[TaskBundle], list[str]]) -> Callable[[Lake], CheckOutcome]:
    def run(lake: Lake) -> CheckOutcome:
        found: list[str] = []
        # Of what others published nothing is required: its defects are stated with it and found by its audit.
        rows = [row for row in lake.rows("tasks") if row["route"] != "import"]
        for bundle in load_bundles(lake, rows):
            found += [f"{bundle.task_id}: {problem}" for problem in problems(bundle)]
        detail = f"{len(rows)} tasks, {len(found)} findings" + (f"; {'; '.join(found[:3])}" if found else "")
        return CheckOutcome(not found, detail, {"tasks": len(rows), "findings": len(found)})

    return run


def balance(lake: Lake) -> CheckOutcome:
    """In a full set no scenario category has more than an eighth of the tasks, and no bench category is empty."""
    rows = [row for row in lake.rows("tasks") if row["family"] is not None]
    families = {row["family"] for row in rows}
    shares = _shares(rows, "scenario_category")
    bench = _shares(rows, "bench_category")
    top = max(shares.items(), key=lambda item: item[1], default=("none", 0.0))
    full = len(families) >= FULL_SET
    passed = not full or (top[1] <= MAX_SHARE + 1 / len(rows) and len(bench) == 6)
    detail = (
        f"{len(families)} families, largest scenario category {top[0]} with {top[1]:.1%}, {len(bench)} bench categories"
    )
    return CheckOutcome(passed, detail + ("" if full else " (not a full set: not judged)"), {"families": len(families)})


def _shares(rows: list[dict[str, Any]], column: str) -> Mapping[str, float]:
    counts = Counter(str(row[column]) for row in rows)
    return {name: count / len(rows) for name, count in sorted(counts.items())}


def distinct_contents(lake: Lake) -> CheckOutcome:
    """No two tasks share instruction and inputs: seeds really differ."""
    rows = lake.rows("tasks")
    contents = Counter((row["instruction"], row["input_manifest"]) for row in rows)
    same = sum(count - 1 for count in contents.values())
    return CheckOutcome(same == 0, f"{len(rows)} task versions, {same} repeat another's instruction and inputs")


CHECKS = (
    StageCheck(
        "tasks_lint", "tasks", _over_bundles(lint),
        "Instruction lengths, every named input there, every output named, no answer among the inputs, unique checks.",
    ),
    StageCheck(
        "tasks_verifiable", "tasks", _over_bundles(families_verifiable), families_verifiable.__doc__ or "",
    ),
    StageCheck("tasks_balance", "tasks", balance, balance.__doc__ or ""),
    StageCheck("tasks_distinct", "tasks", distinct_contents, distinct_contents.__doc__ or ""),
)  # fmt: skip
