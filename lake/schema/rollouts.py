"""Tables of the stage `rollouts`: attempts of every purpose. What was said inside them is `trajectories`."""

from __future__ import annotations

import pyarrow as pa

from lake.schema.model import TIMESTAMP, Column, Table

ATTEMPTS = Table(
    name="attempts",
    stage="rollouts",
    kind="projection",
    doc="Runs of the agent on a task: collection, audits, RL and bench alike.",
    grain="one attempt",
    key=("attempt_id",),
    columns=(
        Column("attempt_id", pa.string(), "Digest of (rollout_id, attempt_no), 20 hex digits"),
        Column(
            "rollout_id", pa.string(), "Digest of (task version, policy, harness, config, seed, repeat), 20 hex digits"
        ),
        Column("attempt_no", pa.int32(), "0, 1, … of its rollout"),
        Column("counted", pa.bool_(), "The rollout's one counted attempt: the first with an agent ending"),
        Column("purpose", pa.string(), "collect | audit | rl | bench"),
        Column("batch", pa.string(), "Batch name (partition)"),
        Column("task_id", pa.string(), "Task", references="tasks.task_id"),
        Column("task_version", pa.string(), "Task version"),
        Column("policy", pa.string(), "scripted:strong@1 | scripted:weak@1 | checkpoint:<id> | openai:<model>"),
        Column("policy_kind", pa.string(), "scripted | checkpoint | endpoint"),
        Column("harness", pa.string(), "openclaw@2026.9.6"),
        Column("config_fingerprint", pa.string(), "Digest of the harness configuration"),
        Column("seed", pa.int64(), "Seed given to the policy"),
        Column("repeat", pa.int32(), "Repeat index"),
        Column("state", pa.string(), "planned | leased | running | ended | lost"),
        Column(
            "ending",
            pa.string(),
            "finished | gave_up | turn_limit | time_limit | token_limit | malformed_call | workspace_limit"
            " | model_endpoint | spend_cap | sandbox | harness_crash | lost",
            nullable=True,
        ),
        Column("ending_kind", pa.string(), "agent | infrastructure", nullable=True),
        Column("ending_detail", pa.string(), "One line: what was seen", nullable=True),
        Column("exit_code", pa.int32(), "Exit code of the harness", nullable=True),
        Column("session_id", pa.string(), "Agent's session id", nullable=True),
        Column("model_calls", pa.int32(), "Calls the proxy served", nullable=True),
        Column("upstream_errors", pa.int32(), "Tries of calls that brought no whole answer", nullable=True),
        Column(
            "prefix_breaks",
            pa.int32(),
            "Requests whose messages do not extend those of the request before; null where the tool profile lets them",
            nullable=True,
        ),
        Column("sandbox", pa.string(), "bubblewrap | process: how the agent was confined", nullable=True),
        Column(
            "initial_workspace_id",
            pa.string(),
            "Workspace at the start",
            nullable=True,
            references="workspaces.workspace_id",
        ),
        Column(
            "final_workspace_id",
            pa.string(),
            "Frozen workspace at the end",
            nullable=True,
        ),
        Column("planned_at", TIMESTAMP, "First event", role="bookkeeping"),
        Column("started_at", TIMESTAMP, "Start of the sandbox", nullable=True, role="bookkeeping"),
        Column("ended_at", TIMESTAMP, "End", nullable=True, role="bookkeeping"),
        Column("duration_s", pa.float64(), "Wall time", nullable=True, unit="s", role="bookkeeping"),
        Column("event_id", pa.string(), "Latest event of the attempt", references="events.event_id"),
    ),
)

FINAL_FILES = Table(
    name="final_files",
    stage="rollouts",
    kind="projection",
    doc="Workspaces as attempts left them, against the initial ones; contents are blobs.",
    grain="one path of one ended attempt",
    key=("attempt_id", "path"),
    columns=(
        Column("attempt_id", pa.string(), "Attempt", references="attempts.attempt_id"),
        Column("path", pa.string(), "Path below the workspace root, / separated"),
        Column("kind", pa.string(), "file | dir | symlink | other"),
        Column(
            "sha256",
            pa.string(),
            "Content; null for what is not a file, was removed or is over the limit",
            nullable=True,
            references="blobs.sha256",
        ),
        Column("size", pa.int64(), "Size; 0 for a removed file", unit="bytes"),
        Column("mode", pa.int32(), "Permission bits; 0 for a removed file"),
        Column("format", pa.string(), "csv | json | md | … by name and content", nullable=True),
        Column("change", pa.string(), "added | modified | unchanged | removed"),
        Column("note", pa.string(), "Why the content was left out", nullable=True),
        Column("event_id", pa.string(), "Event that captured it", references="events.event_id"),
    ),
)

TABLES = (ATTEMPTS, FINAL_FILES)
