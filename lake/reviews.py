"""Reviews: what a person says about a task, an attempt or a run, as an event.

Belongs here: the event `review.recorded`, for every place that asks for one. Does not belong here: forms, and what
follows from a review.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from lake.errors import UsageError

if TYPE_CHECKING:
    from lake.lake import Lake

KINDS: Final = {
    "task": ("tasks", "task_id"),
    "attempt": ("attempts", "attempt_id"),
    "bench_run": ("bench_scores", "bench_run_id"),
}
"""What can be reviewed: table and column of its ids. A task is reviewed at a version: `<task_id>@<task_version>`."""

DECISIONS: Final = ("accept", "revise", "reject")
NOTE_LIMIT: Final = 4_000
"""Characters of a note."""


def record_review(
    lake: Lake, *, subject_kind: str, subject_id: str, decision: str, reviewer: str, note: str, actor: str
) -> str:
    """Append one review to the log; returns its id.

    Args:
        lake: the lake.
        subject_kind: one of `KINDS`.
        subject_id: which one, e.g. `<task_id>@<task_version>`.
        decision: accept, revise or reject.
        reviewer: `person:<name>`.
        note: why, in words; cut at `NOTE_LIMIT`.
        actor: the component that asked.

    Raises:
        UsageError: there is no such kind or decision.
    """
    if subject_kind not in KINDS:
        raise UsageError(f"nothing of kind {subject_kind!r} is reviewed; there are {', '.join(KINDS)}")
    if decision not in DECISIONS:
        raise UsageError(f"decision {decision!r} is none of {', '.join(DECISIONS)}")
    review_id = uuid.uuid4().hex[:20]
    payload = {
        "review_id": review_id, "subject_kind": subject_kind, "subject_id": subject_id, "decision": decision,
        "reviewer": reviewer, "note": note[:NOTE_LIMIT],
    }  # fmt: skip
    with lake.spool(actor) as spool:
        spool.stream("review", review_id).emit("review.recorded", payload)
    lake.commit()
    return review_id
