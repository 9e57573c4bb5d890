"""Tables of the stage `tasks`: proposed tasks with inputs, verifier and provenance. Acceptance is `audits`."""

from __future__ import annotations

import pyarrow as pa

from lake.schema.model import STRINGS, Column, Table

TASKS = Table(
    name="tasks",
    stage="tasks",
    kind="projection",
    doc="Executable workspace tasks as proposed (accepted or not: see task_status).",
    grain="one task version",
    key=("task_id", "task_version"),
    columns=(
        Column("task_id", pa.string(), "Stable identity, e.g. expense_report-s0003"),
        Column(
            "task_version",
            pa.string(),
            "First 16 hex digits of the digest over instruction, inputs, verifier and rubric",
        ),
        Column("instruction", pa.string(), "What the agent is told"),
        Column("origin", pa.string(), "family:<name> | persona | skill | import:<format>"),
        Column("route", pa.string(), "persona | skill | import"),
        Column("family", pa.string(), "Procedural family", nullable=True),
        Column("seed", pa.int64(), "Seed of the parameters", nullable=True),
        Column("scenario_category", pa.string(), "One of the scenario categories of the taxonomy", nullable=True),
        Column("scenario_subcategory", pa.string(), "Its subcategory", nullable=True),
        Column("bench_category", pa.string(), "One of the six bench categories (our mapping)", nullable=True),
        Column("operations", STRINGS, "Atomic operations of the taxonomy"),
        Column("difficulty", pa.int32(), "1 to 5, as designed", nullable=True),
        Column(
            "persona_id", pa.string(), "Persona it was written for", nullable=True, references="personas.persona_id"
        ),
        Column("skill_ids", STRINGS, "Primary and supporting skills"),
        Column("input_count", pa.int32(), "Input files"),
        Column("input_bytes", pa.int64(), "Their total size", unit="bytes"),
        Column("input_formats", STRINGS, "Distinct formats, sorted"),
        Column("input_manifest", pa.string(), "JSON list of {path, sha256, size, format}"),
        Column("reward_manifest", pa.string(), "JSON list of {path, sha256, size}: the verifier package"),
        Column(
            "verifier_sha256",
            pa.string(),
            "Blob of the verifier itself: check.py, test.sh, or the rubric of a task that only a judge scores",
            references="blobs.sha256",
        ),
        Column("verifier_protocol", pa.string(), "grade_floats | reward_booleans | harbor | judge_only"),
        Column("verifier_version", pa.string(), "First 16 hex digits of the digest over the reward manifest"),
        Column("rubric", pa.string(), "JSON list of rules {name, file_path, scores, weight?}", nullable=True),
        Column("expected_outputs", STRINGS, "Paths the instruction asks for"),
        Column(
            "oracle_manifest",
            pa.string(),
            "JSON list of {path, sha256, size}: files of the reference solution",
            nullable=True,
        ),
        Column("plan", pa.string(), "JSON of the teacher plan (tasks/plan.py)", nullable=True),
        Column("licence", pa.string(), "Licence of the task"),
        Column("event_id", pa.string(), "Event that proposed it", references="events.event_id"),
    ),
)

TABLES = (TASKS,)
