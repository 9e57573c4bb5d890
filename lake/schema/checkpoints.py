"""Tables of the stage `checkpoints`: trained models and the metrics of their runs."""

from __future__ import annotations

import pyarrow as pa

from lake.schema.model import TIMESTAMP, Column, Table

CHECKPOINTS = Table(
    name="checkpoints",
    stage="checkpoints",
    kind="projection",
    doc="Model checkpoints: ordinary transformers folders with their whole provenance.",
    grain="one checkpoint",
    key=("checkpoint_id",),
    columns=(
        Column("checkpoint_id", pa.string(), "Digest of (method, config, examples, tokenizer, parent), 20 hex digits"),
        Column("method", pa.string(), "init | sft | grpo"),
        Column(
            "parent_id",
            pa.string(),
            "Checkpoint it started from",
            nullable=True,
            references="checkpoints.checkpoint_id",
        ),
        Column("path", pa.string(), "Folder below the lake's artefacts/", role="bookkeeping"),
        Column("architecture", pa.string(), "e.g. Qwen3ForCausalLM"),
        Column("parameters", pa.int64(), "Number of parameters"),
        Column("tokenizer_sha256", pa.string(), "Digest of tokenizer.json"),
        Column("template_sha256", pa.string(), "Digest of the chat template"),
        Column("config", pa.string(), "JSON of the training configuration"),
        Column(
            "snapshot_id",
            pa.string(),
            "Snapshot the examples were read at",
            nullable=True,
            references="snapshots.snapshot_id",
            role="bookkeeping",
        ),
        Column("examples", pa.int64(), "Training rows"),
        Column("example_ids_sha256", pa.string(), "Digest of the sorted example ids"),
        Column("steps", pa.int64(), "Optimiser steps"),
        Column("loss_first", pa.float64(), "Loss at the first logged step", nullable=True, role="bookkeeping"),
        Column("loss_last", pa.float64(), "Loss at the last logged step", nullable=True, role="bookkeeping"),
        Column("commit", pa.string(), "Git commit of the code", nullable=True, role="bookkeeping"),
        Column("created_at", TIMESTAMP, "When", role="bookkeeping"),
        Column("event_id", pa.string(), "Event", references="events.event_id"),
    ),
)

TRAINING_METRICS = Table(
    name="training_metrics",
    stage="checkpoints",
    kind="projection",
    doc="What the trainer logged, step by step.",
    grain="one metric at one step of one run",
    key=("checkpoint_id", "step", "metric"),
    columns=(
        Column("checkpoint_id", pa.string(), "Checkpoint the run made", references="checkpoints.checkpoint_id"),
        Column("step", pa.int64(), "Optimiser step"),
        Column("metric", pa.string(), "loss | learning_rate | grad_norm | num_tokens …"),
        Column("value", pa.float64(), "Value", role="bookkeeping"),
    ),
)

TABLES = (CHECKPOINTS, TRAINING_METRICS)
