"""The rules of the filter: the first one that a trajectory breaks is the reason it is dropped.

Belongs here: decisions on facts about a trajectory, in order. Does not belong here: reading tables (`projection.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lake.ids import Json, sha256_hex
from lake.ids import canonical as canonical_json

KEPT: Final = "kept"
DUPLICATE: Final = "duplicate"
SPLITS: Final = ("train", "validation")


@dataclass(frozen=True)
class Facts:
    """What the rules look at."""

    ours: bool
    """It belongs to an attempt of this lake."""
    purpose: str | None
    counted: bool
    branch: int
    trajectory_class: str
    has_tools: bool
    """The tool schemas served are recorded."""
    split: str | None
    """Split of its task version; None when that was not accepted."""
    has_verdict: bool
    score: float | None
    """Latest verdict's value in the policy's column."""


def decide(facts: Facts, threshold: float) -> str:
    """`kept`, or the first rule that drops it. Duplicates are told apart afterwards, among those kept here."""
    rules = (
        ("foreign_log", not facts.ours),
        ("not_collected", facts.purpose != "collect"),
        ("not_counted", not facts.counted),
        ("side_branch", facts.branch != 0),
        ("not_train_split", facts.split not in SPLITS),
        ("abnormal_class", facts.trajectory_class != "normal"),
        ("no_tools", not facts.has_tools),
        ("no_verdict", not facts.has_verdict),
        ("not_scored", facts.score is None),
        ("below_threshold", facts.score is not None and not facts.score >= threshold),
    )
    return next((reason for reason, broken in rules if broken), KEPT)


REASONS: Final = (
    KEPT, "foreign_log", "not_collected", "not_counted", "side_branch", "not_train_split", "abnormal_class",
    "no_tools", "no_verdict", "not_scored", "below_threshold", DUPLICATE,
)  # fmt: skip
"""Every reason there is."""


def content_sha256(messages: Sequence[Json], tools: Sequence[Json]) -> str:
    """Digest of a conversation for dedup. Tool-call ids are random, so they count only by the order of their calls."""
    numbers: dict[str, str] = {}
    plain = []
    for message in messages:
        message = dict(message)
        if calls := message.get("tool_calls"):
            message["tool_calls"] = [
                {**call, "id": numbers.setdefault(str(call.get("id")), f"call{len(numbers)}")} for call in calls
            ]
        if message.get("tool_call_id") is not None:
            message["tool_call_id"] = numbers.get(str(message["tool_call_id"]), "none")
        plain.append(message)
    return sha256_hex(canonical_json([plain, list(tools)]))
