"""Blocking checks of the stage: every rollout came to an end that counts, and lean requests extend each other.

Belongs here: checks over `attempts`. Does not belong here: those that follow from the schema.
"""

from __future__ import annotations

import sql
from assets.stage import CheckOutcome, StageCheck
from lake import Lake

_NAMED = 5


def rollouts_counted(lake: Lake) -> CheckOutcome:
    """No rollout is open, and most have a counted attempt; those without one are named."""
    rows = lake.sql(sql.load("rollouts/uncounted")).fetchall()
    total = int((lake.sql("select count(distinct rollout_id) from attempts").fetchone() or (0,))[0])
    still_open = [row for row in rows if row[4] in ("planned", "running")]
    names = "; ".join(f"{task} {policy}: {ending or state}" for _, task, policy, ending, state in rows[:_NAMED])
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return CheckOutcome(
        passed=not still_open and 2 * len(rows) <= total,
        detail=f"{total - len(rows)} of {total} rollouts have a counted attempt"
        + (f"; not: {names}{more}" if rows else ""),
        metadata={"rollouts": total, "uncounted": len(rows), "open": len(still_open)},
    )


def lean_requests_extend(lake: Lake) -> CheckOutcome:
    """With the lean profile and a sound endpoint each request's messages extend those of the one before."""
    rows = lake.sql(sql.load("rollouts/prefix_breaks")).fetchall()
    broken = [(attempt, breaks) for attempt, breaks, errors in rows if breaks and not errors]
    excused = sum(1 for _, breaks, errors in rows if breaks and errors)
    names = "; ".join(f"{attempt}: {breaks}" for attempt, breaks in broken[:_NAMED])
    return CheckOutcome(
        passed=not broken,
        detail=f"{len(rows) - len(broken) - excused} of {len(rows)} lean attempts extend throughout"
        + (f", {excused} break after an endpoint's error" if excused else "")
        + (f"; broken without one: {names}" if broken else ""),
        metadata={"attempts": len(rows), "broken": len(broken), "excused": excused},
    )


CHECKS = (
    StageCheck(
        "rollouts_counted",
        "attempts",
        rollouts_counted,
        "No rollout is left open and at least half have a counted attempt; the others are named.",
    ),
    StageCheck(
        "lean_requests_extend",
        "attempts",
        lean_requests_extend,
        "In attempts of the lean profile each request extends the one before, unless the endpoint failed in between.",
    ),
)
