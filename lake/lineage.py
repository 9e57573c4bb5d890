"""What comes from what, as data: the edges `explain` walks, and what it shows of each table.

Belongs here: edges that no column states, and choices of columns. Edges that a column states are its `references` in
the schema and are not repeated here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lake.schema import TABLES


@dataclass(frozen=True)
class Edge:
    """Rows of `source` come from, or are told more of by, rows of `target`."""

    label: str
    source: str
    target: str
    on: tuple[tuple[str, str], ...]
    """Column of the source, column of the target; a list column on the left stands for each of its values."""
    optional: bool = False
    """Whether nothing there is no fault."""
    summarised: bool = False
    """Whether the target rows are shown as a group even where each could be shown."""


DECLARED: Final = (
    Edge("decision", "sft_examples", "sft_decisions", (("trajectory_id", "trajectory_id"),), optional=True),
    Edge("source", "trajectories", "sources", (("source_id", "source_id"),), optional=True),
    Edge("records", "trajectories", "steps", (("trajectory_id", "trajectory_id"),), summarised=True),
    Edge("finding", "trajectories", "diagnostics", (("trajectory_id", "trajectory_id"),), optional=True),
    Edge("rule", "diagnostics", "cleaning_rules", (("rule", "rule"),), optional=True),
    Edge("final files", "attempts", "final_files", (("attempt_id", "attempt_id"),), optional=True, summarised=True),
    Edge("verdict", "attempts", "verdicts", (("attempt_id", "attempt_id"),), optional=True),
    Edge("logged", "attempts", "raw_records", (("attempt_id", "attempt_id"),), optional=True, summarised=True),
    Edge("audit decision", "tasks", "task_status", (("task_id", "task_id"), ("task_version", "task_version")), True),
    Edge("probe", "tasks", "audits", (("task_id", "task_id"), ("task_version", "task_version")), optional=True),
    Edge("skill", "tasks", "skills", (("skill_ids", "skill_id"),)),
    Edge("verifier", "verdicts", "tasks", (("task_id", "task_id"), ("verifier_version", "verifier_version")), True),
)
"""Edges that no column states."""

SUMMARIES: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "raw_records": (
        ("source_id", "version"),
        "any_value(source_kind) as source_kind, any_value(source_path) as source_path, min(position) as first_position,"
        " max(position + raw_size) as end_position, sum(raw_size)::bigint as bytes, count(*) as rows",
    ),
    "workspaces": (
        ("workspace_id",),
        "count(*) filter (kind = 'file') as files, sum(size)::bigint as bytes, count(*) as rows",
    ),
    "final_files": (
        ("attempt_id",),
        "count(*) filter (kind = 'file') as files, sum(size)::bigint as bytes, count(*) as rows",
    ),
    "steps": (
        ("trajectory_id",),
        "count(distinct record_key) as raw_records, min(record_key) filter (step = 0) as first_record_key,"
        " max_by(record_key, step) as last_record_key, count(*) as rows",
    ),
    "tool_calls": (("trajectory_id",), "count(*) as rows"),
}
"""Tables shown as groups where a group is asked for: the columns that make a group, and what is said of one."""

IDENTITIES: Final[tuple[tuple[str, str], ...]] = (
    ("sft_examples", "example_id"),
    ("trajectories", "trajectory_id"),
    ("attempts", "attempt_id"),
    ("attempts", "rollout_id"),
    ("verdicts", "verdict_id"),
    ("tasks", "task_id"),
    ("tasks", "task_version"),
    ("checkpoints", "checkpoint_id"),
    ("bench_scores", "bench_run_id"),
    ("personas", "persona_id"),
    ("skills", "skill_id"),
    ("trajectories", "session_id"),
    ("attempts", "session_id"),
    ("events", "event_id"),
    ("raw_records", "record_key"),
    ("blobs", "sha256"),
    ("workspaces", "workspace_id"),
    ("raw_records", "source_id"),
    ("snapshots", "snapshot_id"),
    ("events", "stream_id"),
)
"""Columns an id given by a person may be of, in the order they are tried."""

_SHOWN: Final[dict[str, tuple[str, ...]]] = {
    "events": ("type", "type_version", "occurred_at", "actor"),
    "raw_records": (
        "source_kind", "source_path", "raw_size", "raw_sha256", "record_type", "record_id", "parse_status",
        "record_key",
    ),
    "blobs": ("size", "mime"),
    "snapshots": ("recorded_at", "reason"),
    "personas": ("name", "occupation", "origin", "licence"),
    "skills": ("name", "source", "licence"),
    "tasks": ("origin", "family", "seed", "verifier_protocol", "verifier_version", "licence"),
    "task_status": ("status", "split", "reasons"),
    "audits": ("status", "score_code", "passed", "bound", "verifier_version", "detail"),
    "attempts": ("purpose", "policy", "harness", "ending", "counted", "seed", "session_id"),
    "trajectories": ("class", "turns", "tool_calls", "rules", "secrets_masked", "context_differs"),
    "diagnostics": ("rule", "rule_version", "severity", "action", "detail"),
    "steps": ("role", "response_id"),
    "verdicts": ("status", "score_code", "score_rubric", "score", "verifier_version", "judge_version", "is_latest"),
    "sft_examples": ("split", "score_column", "score", "policy", "turns"),
    "sft_decisions": ("decision", "reason", "score"),
    "checkpoints": ("method", "architecture", "examples", "steps", "loss_last"),
    "bench_scores": ("suite", "policy", "mean", "low", "high", "n", "label"),
    "workspaces": ("kind", "sha256", "size"),
    "sources": ("source_kind", "path", "records", "bytes", "sha256", "is_latest"),
    "cleaning_rules": ("rule_version", "action", "meaning"),
}  # fmt: skip

FACTS: Final[dict[str, tuple[str, ...]]] = {
    name: _SHOWN.get(name, spec.content_columns[:5]) for name, spec in TABLES.items()
}
"""Columns shown of each table."""

UNIQUE: Final = {("raw_records", "record_key"), ("events", "event_id")}
"""Columns that are not the key and yet name one row."""

_NOT_WALKED: Final = {
    ("diagnostics", "source_id"),  # its record_key is finer
    ("steps", "trajectory_id"),
    ("tool_calls", "trajectory_id"),
    ("attempts", "final_workspace_id"),  # final workspaces are the rows of final_files
    ("verdicts", "workspace_id"),
}
"""References that say nothing an edge does not say better."""


def edges_of(table: str) -> tuple[Edge, ...]:
    """All edges out of a table: those its columns state, then the declared ones."""
    spec = TABLES[table]
    names = {column.name for column in spec.columns}
    stated: list[Edge] = []
    for column in spec.columns:
        if column.references is None or (table, column.name) in _NOT_WALKED:
            continue
        target, _, target_column = column.references.partition(".")
        on = [(column.name, target_column)]
        if target == "tasks" and "task_version" in names:
            on.append(("task_version", "task_version"))
        stated.append(Edge(column.name, table, target, tuple(on)))
    return (*stated, *(edge for edge in DECLARED if edge.source == table))
