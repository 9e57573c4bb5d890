"""Blocking checks of the stage: most rollouts came to an end that counts, and lean requests extend each other.

Belongs here: checks over `attempts`. Does not belong here: those that follow from the schema.
"""

from __future__ import annotations

import sql
from assets.stage import CheckOutcome, StageCheck
from lake import Lake

_NAMED = 5
_MAY_BREAK = 0.05
"""Share of finished attempts whose harness may go back in its conversation (after an empty answer, say)."""


def rollouts_counted(lake: Lake) -> CheckOutcome:
    """Most of the collection's rollouts that were run have a counted attempt; those without one are named.

    Rollouts that are open (interrupted, run by somebody else, planned by other settings) are counted beside them.
    """
    rows = lake.sql(sql.load("rollouts/uncounted")).fetchall()
    opened = sum(is_open for *_, is_open, _ in rows)
    lacking = [(task, policy, ending) for _, task, policy, ending, is_open, counted in rows if not (is_open or counted)]
    run = len(rows) - opened
    names = "; ".join(f"{task} {policy}: {ending}" for task, policy, ending in lacking[:_NAMED])
    more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
    return CheckOutcome(
        passed=2 * len(lacking) <= run,
        detail=f"{run - len(lacking)} of {run} rollouts have a counted attempt"
        + (f", {opened} are open" if opened else "")
        + (f"; without: {names}{more}" if lacking else ""),
        metadata={"rollouts": run, "uncounted": len(lacking), "open": opened},
    )


def lean_requests_extend(lake: Lake) -> CheckOutcome:
    """With the lean profile and a sound endpoint each request's messages extend those of the one before."""
    rows = lake.sql(sql.load("rollouts/prefix_breaks")).fetchall()
    excused = sum(1 for _, breaks, errors in rows if breaks and errors)
    broken = [(attempt, breaks) for attempt, breaks, errors in rows if breaks and not errors]
    names = "; ".join(f"{attempt}: {breaks}" for attempt, breaks in broken[:_NAMED])
    return CheckOutcome(
        passed=len(broken) <= _MAY_BREAK * len(rows),
        detail=f"{len(rows) - len(broken) - excused} of {len(rows)} finished lean attempts extend throughout"
        + (f", {excused} break after an endpoint's error" if excused else "")
        + (f"; broken without one: {names}" if broken else ""),
        metadata={"attempts": len(rows), "broken": len(broken), "excused": excused},
    )


CHECKS = (
    StageCheck(
        "rollouts_counted",
        "attempts",
        rollouts_counted,
        "At least half of the collection's rollouts that were run have a counted attempt; the others are named.",
    ),
    StageCheck(
        "lean_requests_extend",
        "attempts",
        lean_requests_extend,
        "In finished attempts of the lean profile each request extends the one before, save 5 % or endpoint errors.",
    ),
)
