"""Checks of the stage: every end has a verdict, and no verdict says what it cannot know."""

from __future__ import annotations

import sql
from assets.stage import CheckOutcome, StageCheck
from lake import Lake

_NAMED = 3


def every_end_has_a_verdict(lake: Lake) -> CheckOutcome:
    """Each attempt that ended has verdicts, exactly one of them the latest."""
    missing = lake.sql(sql.load("verdicts/ungraded")).fetchall()
    (ended,) = lake.sql("select count(*) from attempts where ending_kind is not null").fetchone() or (0,)
    named = ", ".join(attempt for attempt, _, _ in missing[:_NAMED])
    detail = f"{ended} ended attempts, {len(missing)} without exactly one latest verdict{': ' + named if named else ''}"
    return CheckOutcome(not missing, detail, {"ended": ended, "missing": len(missing)})


def verdicts_are_sound(lake: Lake) -> CheckOutcome:
    """Scores within 0 to 1; null unless scored and never a zero in its place; no renormalised score."""
    faults = lake.sql(sql.load("verdicts/unsound")).fetchall()
    (total,) = lake.sql("select count(*) from verdicts").fetchone() or (0,)
    named = "; ".join(f"{verdict}: {fault}" for verdict, fault in faults[:_NAMED])
    return CheckOutcome(not faults, f"{total} verdicts, {len(faults)} faults{': ' + named if named else ''}")


def verifiers_hold(lake: Lake) -> CheckOutcome:
    """Accepted verifiers do not fail on what agents leave: of latest verdicts one, or one in twenty, may be one."""
    row = lake.sql(
        "select count(*) filter (status in ('verifier_error', 'verifier_timeout')),"
        " count(*) filter (status <> 'not_gradable') from verdicts where is_latest"
    ).fetchone() or (0, 0)
    return CheckOutcome(row[0] <= max(1, row[1] // 20), f"{row[0]} of {row[1]} gradings are errors of the verifier")


CHECKS = (
    StageCheck("every_end_has_a_verdict", "verdicts", every_end_has_a_verdict, every_end_has_a_verdict.__doc__ or ""),
    StageCheck("verdicts_are_sound", "verdicts", verdicts_are_sound, verdicts_are_sound.__doc__ or ""),
    StageCheck("verifiers_hold", "verdicts", verifiers_hold, verifiers_hold.__doc__ or ""),
)
