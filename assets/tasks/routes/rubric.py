"""Rubric rules: five levels, one output each, in the shape of ClawGym.

Belongs here: which drafted rules are sound, and their form. Does not belong here: judging by them (`grading/judge.py`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from assets.tasks.routes.answers import RubricDraft, TaskDraft

MOST: Final = 5


def rules_of(draft: RubricDraft, task: TaskDraft) -> list[dict[str, Any]]:
    """The sound rules of a draft; none where it says that there are none."""
    if draft.skip:
        return []
    outputs = {item.path for item in task.outputs}
    found: list[dict[str, Any]] = []
    names: set[str] = set()
    for rule in draft.rules:
        scores = rule.scores.by_score
        distinct = len({text.strip() for text in scores.values()}) == len(scores) and all(scores.values())
        if rule.file_path in outputs and rule.name.strip() and rule.name not in names and distinct and rule.weight > 0:
            names.add(rule.name)
            found.append({"name": rule.name, "file_path": rule.file_path, "weight": rule.weight, "scores": scores})
    return found[:MOST]


def without(rules: list[dict[str, Any]], names: Collection[str]) -> list[dict[str, Any]]:
    """The rules that are not named."""
    return [rule for rule in rules if rule["name"] not in names]
