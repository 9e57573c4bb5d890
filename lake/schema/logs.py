"""Tables of the stage `logs`: which sources are in the lake, and from where. Their records are `raw_records`."""

from __future__ import annotations

import pyarrow as pa

from lake.schema.model import STRINGS, TIMESTAMP, Column, Table

SOURCES = Table(
    name="sources",
    stage="logs",
    kind="projection",
    doc="Versions of log sources in the lake: sessions' transcripts, trajectories, model calls, harness output.",
    grain="one version of one source",
    key=("source_id", "version"),
    columns=(
        Column("source_id", pa.string(), "sha256 of (source kind, session identity, first record), hex"),
        Column("version", pa.int32(), "0, and one more each time committed bytes changed"),
        Column("is_latest", pa.bool_(), "Highest version of its source"),
        Column("source_kind", pa.string(), "Kind, as in raw_records"),
        Column("path", pa.string(), "Where it was first read from"),
        Column(
            "home", pa.string(), "State folder it lay in: what is before `agents/`, else its own folder", nullable=True
        ),
        Column("seen_paths", STRINGS, "Every path it was read from, copies and prefixes of it included, sorted"),
        Column("session_id", pa.string(), "Agent's session id, where known", nullable=True),
        Column("attempt_id", pa.string(), "Attempt of ours", nullable=True, references="attempts.attempt_id"),
        Column("records", pa.int64(), "Raw records"),
        Column("bytes", pa.int64(), "Length of its stream (after decompression)", unit="bytes"),
        Column("sha256", pa.string(), "sha256 of its stream, hex"),
        Column("open_tail", pa.bool_(), "The last record has no line end: torn, or still being written"),
        Column("ingests", pa.int32(), "Times it was taken in: 1, and one more each time it grew"),
        Column("ingested_at", TIMESTAMP, "When it was last taken in", role="bookkeeping"),
        Column("event_id", pa.string(), "Event that states it", references="events.event_id"),
    ),
)

SESSIONS = Table(
    name="sessions",
    stage="logs",
    kind="projection",
    doc="Sessions as the agent's own books state them: its index, its database, sub-agents' runs, runs' headers.",
    grain="one session of one state folder",
    key=("home", "session_id"),
    columns=(
        Column("home", pa.string(), "State folder; keys are unique only inside it"),
        Column("session_id", pa.string(), "Agent's session id; the key of a sub-agent whose session nobody names"),
        Column("session_key", pa.string(), "What the session is for: agent:<agent>:<what>", nullable=True),
        Column("kind", pa.string(), "main | subagent | cron | channel | explicit | other, by the key", nullable=True),
        Column("agent_id", pa.string(), "Agent, by the key", nullable=True),
        Column("spawned_by", pa.string(), "Key of the session that spawned it", nullable=True),
        Column("parent_key", pa.string(), "Key of its parent session, spawned or not", nullable=True),
        Column("forked_from", pa.string(), "Id of the session it was forked from or follows", nullable=True),
        Column("spawn_depth", pa.int32(), "Sub-agents above it, itself included", nullable=True),
        Column("label", pa.string(), "Name given to it", nullable=True),
        Column("status", pa.string(), "running | done | failed | killed | timeout", nullable=True),
        Column("started_at", TIMESTAMP, "When it began", nullable=True),
        Column("updated_at", TIMESTAMP, "When the books were last changed about it", nullable=True),
        Column("stated_by", pa.string(), "Kind of source of the last statement"),
        Column("record_key", pa.string(), "Raw record of the last statement", references="raw_records.record_key"),
    ),
)

TABLES = (SOURCES, SESSIONS)
