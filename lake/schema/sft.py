"""Tables of the stage `sft`: the filtered training set and why each trajectory is in or out."""

from __future__ import annotations

import pyarrow as pa

from lake.schema.model import Column, Table

SFT_EXAMPLES = Table(
    name="sft_examples",
    stage="sft",
    kind="projection",
    doc="Conversations kept for supervised fine-tuning, with provenance.",
    grain="one trajectory kept",
    key=("example_id",),
    columns=(
        Column("example_id", pa.string(), "Digest of (trajectory, filter version, content), 20 hex digits"),
        Column("trajectory_id", pa.string(), "Trajectory", references="trajectories.trajectory_id"),
        Column("attempt_id", pa.string(), "Attempt", references="attempts.attempt_id"),
        Column("task_id", pa.string(), "Task", references="tasks.task_id"),
        Column("task_version", pa.string(), "Task version"),
        Column("verdict_id", pa.string(), "Verdict that let it in", references="verdicts.verdict_id"),
        Column("split", pa.string(), "train | validation"),
        Column("policy", pa.string(), "Policy that produced it"),
        Column("score_column", pa.string(), "Column the filter read"),
        Column("score", pa.float64(), "Its value"),
        Column("turns", pa.int32(), "Assistant turns"),
        Column("tool_calls", pa.int32(), "Tool calls"),
        Column(
            "messages", pa.large_string(), "JSON list of OpenAI chat messages; answers of weight 0 are not trained on"
        ),
        Column("tools", pa.large_string(), "JSON list of tool schemas"),
        Column("context_differs", pa.float64(), "From the trajectory", nullable=True, unit="ratio"),
        Column("content_sha256", pa.string(), "Digest of messages and tools without call ids, for dedup"),
    ),
)

SFT_DECISIONS = Table(
    name="sft_decisions",
    stage="sft",
    kind="projection",
    doc="The filter's decision on every trajectory: kept, or the first rule that dropped it.",
    grain="one trajectory",
    key=("trajectory_id",),
    columns=(
        Column("trajectory_id", pa.string(), "Trajectory", references="trajectories.trajectory_id"),
        Column("attempt_id", pa.string(), "Attempt", nullable=True, references="attempts.attempt_id"),
        Column("decision", pa.string(), "kept | dropped"),
        Column(
            "reason",
            pa.string(),
            "kept, or the first rule broken: foreign_log | not_collected | not_counted | side_branch | not_train_split"
            " | abnormal_class | no_tools | no_verdict | not_scored | below_threshold | duplicate",
        ),
        Column("score", pa.float64(), "Score read", nullable=True),
    ),
)

TABLES = (SFT_EXAMPLES, SFT_DECISIONS)
