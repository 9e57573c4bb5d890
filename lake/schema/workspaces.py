"""Tables of the stage `workspaces`: file manifests of initial and final workspaces; contents are blobs."""

from __future__ import annotations

import pyarrow as pa

from lake.schema.model import Column, Table

WORKSPACES = Table(
    name="workspaces",
    stage="workspaces",
    kind="projection",
    doc="Files of the initial workspaces, with the checks of resource preparation."
    " Final ones: workspace_files of attempts.",
    grain="one file of one workspace",
    key=("workspace_id", "path"),
    columns=(
        Column("workspace_id", pa.string(), "Digest of the manifest (sorted path, sha256, mode)"),
        Column("path", pa.string(), "Path below the workspace root, / separated"),
        Column("role", pa.string(), "initial | final"),
        Column("task_id", pa.string(), "Task", references="tasks.task_id"),
        Column("attempt_id", pa.string(), "Attempt for final ones", nullable=True, references="attempts.attempt_id"),
        Column("kind", pa.string(), "file | dir | symlink | other"),
        Column(
            "sha256",
            pa.string(),
            "Content; null for what is not a file or over the limit",
            nullable=True,
            references="blobs.sha256",
        ),
        Column("size", pa.int64(), "Size", unit="bytes"),
        Column("mode", pa.int32(), "Permission bits"),
        Column(
            "format", pa.string(), "csv | json | jsonl | md | yaml | html | log | ini | toml | py | text | binary …"
        ),
        Column("parses", pa.bool_(), "Whether it parses as its format; null where there is no parser", nullable=True),
        Column("note", pa.string(), "Link target, parse error or why the content was left out", nullable=True),
        Column("event_id", pa.string(), "Event that captured it", references="events.event_id"),
    ),
)

TABLES = (WORKSPACES,)
