"""Checks of the stage: every task decided, and nothing accepted that must not be. Looked up again from the tables."""

from __future__ import annotations

import sql
from assets.stage import CheckOutcome, StageCheck
from lake import Lake


def every_task_decided(lake: Lake) -> CheckOutcome:
    """Every task version is accepted or rejected, a rejection has reasons, an acceptance a split."""
    row = lake.sql(
        """
        select count(*), count(*) filter (status is null), count(*) filter (status = 'accepted'),
            count(*) filter (status = 'rejected' and len(reasons) = 0),
            count(*) filter (status = 'accepted' and (split is null or len(reasons) > 0))
        from tasks left join task_status using (task_id, task_version)
        """
    ).fetchone() or (0, 0, 0, 0, 0)
    tasks, undecided, accepted, unreasoned, unassigned = row
    passed = not undecided and not unreasoned and not unassigned and (accepted > 0 or tasks == 0)
    detail = f"{tasks} task versions: {accepted} accepted, {undecided} undecided, {unreasoned} rejected without reason"
    return CheckOutcome(passed, detail, {"tasks": tasks, "accepted": accepted, "undecided": undecided})


def accepted_are_sound(lake: Lake) -> CheckOutcome:
    """No accepted task pays for nothing, fails its reference solution, wavers, or misses a probe it must have had."""
    unsound = lake.sql(sql.load("audits/unsound")).fetchall()
    named = "; ".join(f"{task}: {what}" for task, what in unsound[:3])
    return CheckOutcome(not unsound, f"{len(unsound)} accepted tasks are unsound{': ' + named if named else ''}")


def splits_are_apart(lake: Lake) -> CheckOutcome:
    """No task, in whatever version, and no content of an instruction is in two splits."""
    row = lake.sql(
        """
        with placed as (
            select task_id, instruction, split from tasks join task_status using (task_id, task_version)
            where split is not null
        ),
        per_task as (select task_id from placed group by task_id having count(distinct split) > 1),
        per_text as (select instruction from placed group by instruction having count(distinct split) > 1)
        select (select count(*) from placed), (select count(*) from per_task), (select count(*) from per_text)
        """
    ).fetchone() or (0, 0, 0)
    detail = f"{row[0]} placed versions, {row[1]} tasks and {row[2]} instructions in two splits"
    return CheckOutcome(row[1] == 0 and row[2] == 0, detail)


CHECKS = (
    StageCheck("every_task_decided", "task_status", every_task_decided, every_task_decided.__doc__ or ""),
    StageCheck("accepted_are_sound", "audits", accepted_are_sound, accepted_are_sound.__doc__ or ""),
    StageCheck("splits_are_apart", "task_status", splits_are_apart, splits_are_apart.__doc__ or ""),
)
