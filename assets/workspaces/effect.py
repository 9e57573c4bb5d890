"""Resource preparation: lays each task's inputs out as a folder, reads them back, and states what is there.

Belongs here: one `workspace.prepared` a task version. Does not belong here: final workspaces (`rollouts`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assets.sandbox.folder import FileEntry, materialise, snapshot
from assets.stage import Context
from assets.tasks import TaskBundle, load_bundle
from assets.tasks.formats import format_of, parse_problem
from assets.tasks.lint import missing_inputs
from lake.errors import ClawGymError

PREPARED = "workspace.prepared"
LIMIT_BYTES = 256 * 1024 * 1024


def prepare_workspaces(context: Context) -> Mapping[str, int]:
    """Emit `workspace.prepared` for each task version that has none."""
    known = context.lake.streams("workspace", (PREPARED,))
    rows = context.lake.rows("tasks")
    waiting = [row for row in rows if f"{row['task_id']}@{row['task_version']}" not in known]
    counts = {"prepared": 0, "found": len(rows) - len(waiting), "unusable": 0}
    if waiting:
        with context.lake.spool("workspaces.prepare", context.run_id) as spool:
            for row in waiting:
                stream = spool.stream("workspace", f"{row['task_id']}@{row['task_version']}")
                payload = prepared(load_bundle(context.lake, row))
                payload["task_version"] = row["task_version"]
                stream.emit(PREPARED, payload, caused_by=row["event_id"])
                counts["unusable" if payload["workspace_id"] is None else "prepared"] += 1
                context.progress("workspaces", counts["prepared"], len(waiting))
    return counts


def prepared(bundle: TaskBundle) -> dict[str, Any]:
    """The payload of `workspace.prepared`; inputs that cannot be laid out give no workspace_id, and a note."""
    with tempfile.TemporaryDirectory(prefix="clawgym-workspace-") as temporary:
        folder = Path(temporary)
        try:
            materialise(bundle.inputs, folder)
        except (ClawGymError, OSError, ValueError) as error:
            return _unusable(bundle, f"the inputs cannot be laid out: {error}")
        shot = snapshot(folder, limit_bytes=LIMIT_BYTES)
        files = [_entry(entry, bundle) for entry in shot.files]
    missing = missing_inputs(bundle)
    return {
        "workspace_id": shot.workspace_id,
        "task_id": bundle.task_id,
        "task_version": bundle.task_version,
        "files": [*files, *(_absent(path) for path in missing)],
        "note": f"the instruction names {', '.join(missing)}, which is absent" if missing else None,
    }


def _entry(entry: FileEntry, bundle: TaskBundle) -> dict[str, Any]:
    content = bundle.inputs.get(entry.path)
    found = {"path": entry.path, "sha256": entry.sha256, "size": entry.size, "mode": entry.mode, "kind": entry.kind}
    if content is None:
        return {**found, "format": entry.kind, "parses": None, "note": None}
    name = format_of(entry.path, content)
    parses, note = parse_problem(name, content)
    return {**found, "format": name, "parses": parses, "note": note}


def _absent(path: str) -> dict[str, Any]:
    note = "named by the instruction, not among the inputs"
    return {
        "path": path, "sha256": None, "size": 0, "mode": 0, "kind": "missing", "format": format_of(path, b""),
        "parses": None, "note": note,
    }  # fmt: skip


def _unusable(bundle: TaskBundle, note: str) -> dict[str, Any]:
    return {
        "workspace_id": None, "task_id": bundle.task_id, "task_version": bundle.task_version, "files": [], "note": note,
    }  # fmt: skip
