"""Tables of the stage `workspaces`: file manifests of initial workspaces; contents are blobs."""

from __future__ import annotations

import pyarrow as pa

from lake.schema.model import Column, Table

WORKSPACES = Table(
    name="workspaces",
    stage="workspaces",
    kind="projection",
    doc="Files of the initial workspaces, with the checks of resource preparation. Final ones are `final_files`.",
    grain="one file of the initial workspace of one task version",
    key=("task_id", "task_version", "path"),
    columns=(
        Column("workspace_id", pa.string(), "Digest of the manifest (sorted path, sha256, mode)"),
        Column("task_id", pa.string(), "Task", references="tasks.task_id"),
        Column("task_version", pa.string(), "Task version"),
        Column("path", pa.string(), "Path below the workspace root, / separated"),
        Column("kind", pa.string(), "file | dir | missing (named by the instruction, not there)"),
        Column("sha256", pa.string(), "Content; null for what is not a file", nullable=True, references="blobs.sha256"),
        Column("size", pa.int64(), "Size", unit="bytes"),
        Column("mode", pa.int32(), "Permission bits"),
        Column(
            "format", pa.string(), "csv | json | jsonl | md | yaml | html | log | ini | toml | py | text | binary …"
        ),
        Column("parses", pa.bool_(), "Whether it parses as its format; null where there is no parser", nullable=True),
        Column("note", pa.string(), "Why it does not parse, or what is missing", nullable=True),
        Column("event_id", pa.string(), "Event that prepared it", references="events.event_id"),
    ),
)

TABLES = (WORKSPACES,)
