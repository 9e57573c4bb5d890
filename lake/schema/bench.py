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
        Column("score_column", pa.string(), "Column of verdicts that was read: score_code | score"),
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

BENCH_COMPARISONS = Table(
    name="bench_comparisons",
    stage="bench",
    kind="projection",
    doc="Bench runs two by two, task by task: second minus first. Scripted teachers are never compared with models.",
    grain="two finished runs of one suite version by the same score column",
    key=("first_run_id", "second_run_id"),
    columns=(
        Column("first_run_id", pa.string(), "Run", references="bench_scores.bench_run_id"),
        Column("second_run_id", pa.string(), "Another run", references="bench_scores.bench_run_id"),
        Column("suite", pa.string(), "Suite name"),
        Column("suite_version", pa.string(), "Digest of its task versions"),
        Column("first_policy", pa.string(), "Policy of the first run"),
        Column("second_policy", pa.string(), "Policy of the second run"),
        Column("scripted", pa.bool_(), "Whether both are scripted teachers; else both are models"),
        Column("score_column", pa.string(), "Column of verdicts that was read"),
        Column("tasks", pa.int32(), "Tasks with a score in both runs"),
        Column(
            "first_mean", pa.float64(), "Mean of the first over these tasks; null when there are none", nullable=True
        ),
        Column("second_mean", pa.float64(), "Mean of the second over these tasks", nullable=True),
        Column("difference", pa.float64(), "Second minus first, mean over tasks", nullable=True),
        Column(
            "low",
            pa.float64(),
            "Lower end of the 95 % BCa interval by paired bootstrap over tasks; null below two tasks",
            nullable=True,
        ),
        Column("high", pa.float64(), "Upper end", nullable=True),
        Column("p_value", pa.float64(), "Two-sided, by sign flips; null below two tasks", nullable=True),
        Column("better", pa.int32(), "Tasks whose mean is higher in the second"),
        Column("worse", pa.int32(), "Tasks whose mean is lower in the second"),
        Column("equal", pa.int32(), "Tasks whose mean is the same"),
        Column("gained", pa.list_(pa.string()), "Tasks that only the second passes in most attempts"),
        Column("lost", pa.list_(pa.string()), "Tasks that only the first passes in most attempts"),
    ),
)

TABLES = (BENCH_SCORES, BENCH_COMPARISONS)
