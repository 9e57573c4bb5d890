"""Table `workspaces` from `workspace.prepared`, and its checks."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from assets.stage import CheckOutcome, StageCheck
from lake import Lake, Projection, View, rows_table


def build(view: View) -> Mapping[str, pa.Table]:
    """One row a file (or missing file) of a task's initial workspace."""
    rows = []
    for event in view.events("workspace.prepared"):
        payload = event.payload
        shared = {
            "workspace_id": payload["workspace_id"],
            "task_id": payload["task_id"],
            "task_version": payload["task_version"],
            "event_id": event.event_id,
        }
        rows += [{**entry, **shared} for entry in payload["files"]]
    return {"workspaces": rows_table("workspaces", rows)}


PROJECTION = Projection(
    name="workspaces", version=1, outputs=("workspaces",), events=("workspace.prepared",), build=build
)  # fmt: skip


def complete(lake: Lake) -> CheckOutcome:
    """Every task version has a workspace whose files are those of its manifest, and none that it names is missing.

    Tasks that others published may name absent files: a defect that their audit reports.
    """
    rows = lake.sql(
        """
        with files as (
            select task_id, task_version, count(*) filter (kind = 'file') as files,
                count(*) filter (kind = 'missing') as missing
            from workspaces group by all
        )
        select t.task_id, t.input_count, coalesce(f.files, 0) as files,
            case when t.route = 'import' then 0 else coalesce(f.missing, 0) end as missing
        from tasks t left join files f using (task_id, task_version) order by t.task_id, t.task_version
        """
    ).fetchall()
    short = [task for task, wanted, files, _ in rows if wanted != files]
    missing = [task for task, _, _, absent in rows if absent]
    detail = f"{len(rows)} task versions, {len(short)} with other files than listed, {len(missing)} naming absent ones"
    return CheckOutcome(not short and not missing, detail, {"short": len(short), "missing": len(missing)})


def parseable(lake: Lake) -> CheckOutcome:
    """What does not parse as its format does so on purpose: at most one input in five, and never a whole task.

    Of our own tasks; those that others published are as they are.
    """
    imported = {row["task_id"] for row in lake.rows("tasks") if row["route"] == "import"}
    files = [row for row in lake.rows("workspaces") if row["kind"] == "file" and row["task_id"] not in imported]
    broken = [row for row in files if row["parses"] is False]
    whole = {row["task_id"] for row in files} - {row["task_id"] for row in files if row["parses"] is not False}
    passed = not whole and 5 * len(broken) <= len(files)
    return CheckOutcome(
        passed, f"{len(files)} files, {len(broken)} do not parse, {len(whole)} tasks without any that does"
    )


CHECKS = (
    StageCheck("workspaces_complete", "workspaces", complete, complete.__doc__ or ""),
    StageCheck("workspaces_parse", "workspaces", parseable, parseable.__doc__ or ""),
)
