"""Tables of the stage `audits`: probes of each verifier, and the decision on each task."""

from __future__ import annotations

import pyarrow as pa

from lake.schema.model import STRINGS, Column, Table

AUDITS = Table(
    name="audits",
    stage="audits",
    kind="projection",
    doc="One run of a task's verifier on a workspace we know the worth of.",
    grain="one task version x probe",
    key=("task_id", "task_version", "probe"),
    columns=(
        Column("task_id", pa.string(), "Task", references="tasks.task_id"),
        Column("task_version", pa.string(), "Task version"),
        Column(
            "probe",
            pa.string(),
            "untouched | empty | zero_byte | placeholder | pasted_instruction | oracle | repeat | mutant:<kind>:<path>"
            " | variation:<kind>:<path> (a mutant that need not be noticed) | lint:<name>",
        ),
        Column("workspace_id", pa.string(), "Workspace the verifier saw", nullable=True),
        Column("verifier_version", pa.string(), "Verifier"),
        Column(
            "status",
            pa.string(),
            "scored | verifier_error | verifier_timeout | not_gradable (also: no run, as for a lint)",
        ),
        Column("score_code", pa.float64(), "Score; null unless scored", nullable=True),
        Column("checks", pa.string(), "JSON object: check name to value"),
        Column("passed", pa.bool_(), "Whether the probe came out as it must"),
        Column("bound", pa.string(), "What it had to satisfy, e.g. score < 0.1"),
        Column("detail", pa.string(), "Why it failed", nullable=True),
        Column("duration_s", pa.float64(), "Wall time of the verifier", unit="s", role="bookkeeping"),
        Column("event_id", pa.string(), "Event that stated it", references="events.event_id"),
    ),
)

TASK_STATUS = Table(
    name="task_status",
    stage="audits",
    kind="projection",
    doc="The decision on each task version and the split it was assigned to.",
    grain="one task version",
    key=("task_id", "task_version"),
    columns=(
        Column("task_id", pa.string(), "Task", references="tasks.task_id"),
        Column("task_version", pa.string(), "Task version"),
        Column("status", pa.string(), "accepted | rejected"),
        Column("reasons", STRINGS, "Probes that failed, sorted"),
        Column("split", pa.string(), "train | validation | test | bench:<suite>; null when rejected", nullable=True),
        Column("event_id", pa.string(), "Event of the decision", references="events.event_id"),
    ),
)

TABLES = (AUDITS, TASK_STATUS)
