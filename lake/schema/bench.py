"""Tables of the stage `bench`: scores with n and intervals. Scripted teachers never stand beside models."""

from __future__ import annotations

import pyarrow as pa

from lake.schema.model import Column, Table

BENCH_SCORES = Table(
    name="bench_scores",
    stage="bench",
    kind="projection",
    doc="Scores of a policy on a suite: whole, by category and by task, with n and a bootstrap interval.",
    grain="one bench run x scope",
    key=("bench_run_id", "scope", "scope_value"),
    columns=(
        Column("bench_run_id", pa.string(), "Digest of (suite, suite version, policy, config, seeds)"),
        Column("suite", pa.string(), "Suite name"),
        Column("suite_version", pa.string(), "Digest of its task versions"),
        Column("policy", pa.string(), "Policy"),
        Column("policy_kind", pa.string(), "scripted | checkpoint | endpoint"),
        Column("scope", pa.string(), "suite | category | task"),
        Column("scope_value", pa.string(), "Suite name, category or task id"),
        Column("tasks", pa.int32(), "Tasks in scope"),
        Column("n", pa.int32(), "Scored attempts"),
        Column("n_null", pa.int32(), "Attempts without a score (infrastructure, verifier, judge); out of the mean"),
        Column("mean", pa.float64(), "Mean score, task-weighted; null when n = 0", nullable=True),
        Column(
            "low",
            pa.float64(),
            "Lower end of the 95 % BCa bootstrap interval over tasks; null below two tasks",
            nullable=True,
        ),
        Column("high", pa.float64(), "Upper end", nullable=True),
        Column("pass_at_1", pa.float64(), "Share of attempts at score >= .999, task-weighted", nullable=True),
        Column(
            "pass_at_k",
            pa.float64(),
            "pass@k: chance that one of k attempts passes, over tasks with k scored attempts",
            nullable=True,
        ),
        Column(
            "pass_hat_k",
            pa.float64(),
            "pass^k: chance that all of k attempts pass, over tasks with k scored attempts",
            nullable=True,
        ),
        Column("k", pa.int32(), "Attempts per task"),
        Column(
            "valid_call_rate",
            pa.float64(),
            "Well-formed tool calls of all calls tried; null when none tried",
            nullable=True,
            unit="ratio",
        ),
        Column(
            "label",
            pa.string(),
            "What may be concluded from it, e.g. scripted teacher: checks the harness, not a model",
        ),
    ),
)

TABLES = (BENCH_SCORES,)
