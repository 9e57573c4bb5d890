"""The log: what happened, written once. The only tables that cannot be rebuilt.

Belongs here: `events`, `raw_records`, `blobs`, `snapshots`. Does not belong here: anything computed from them.
"""

from __future__ import annotations

import pyarrow as pa

from lake.schema.model import TIMESTAMP, Column, Table

EVENTS = Table(
    name="events",
    stage="lake",
    kind="log",
    doc="Facts we state: proposals, runs, verdicts, checkpoints. Append-only.",
    grain="one fact of one stream",
    key=("stream_kind", "stream_id", "seq"),
    sort_by=("stream_kind", "stream_id", "seq"),
    columns=(
        Column("event_id", pa.string(), "sha256 of (stream_kind, stream_id, seq), hex"),
        Column(
            "stream_kind",
            pa.string(),
            "What the stream is about: persona, skill, task, audit, attempt, verdict, source, training, bench, run …",
        ),
        Column("stream_id", pa.string(), "Identity of the stream inside its kind; one producer each"),
        Column("seq", pa.int64(), "Position in the stream from 0, gapless, given by the producer"),
        Column("type", pa.string(), "Dotted event type, e.g. attempt.ended"),
        Column("type_version", pa.int32(), "Version of the payload's shape; older ones are upcast on reading"),
        Column("occurred_at", TIMESTAMP, "When it happened, by the producer's clock"),
        Column("recorded_at", TIMESTAMP, "When the committer wrote it", role="bookkeeping"),
        Column(
            "run_id", pa.string(), "Run (Dagster run or CLI call) that caused it", nullable=True, role="bookkeeping"
        ),
        Column(
            "caused_by",
            pa.string(),
            "event_id of the cause in another stream",
            nullable=True,
            references="events.event_id",
        ),
        Column("actor", pa.string(), "Component that states it, e.g. rollouts.scheduler"),
        Column("payload", pa.string(), "Canonical JSON, at most 64 KiB; null when in payload_blob", nullable=True),
        Column(
            "payload_blob",
            pa.string(),
            "sha256 of the payload in blobs when it is larger",
            nullable=True,
            references="blobs.sha256",
        ),
    ),
)

RAW_RECORDS = Table(
    name="raw_records",
    stage="logs",
    kind="log",
    doc="Bytes others wrote: agent logs and the proxy's record of each upstream try. Append-only.",
    grain="one record (line or row) of one version of one source",
    key=("source_id", "version", "position"),
    sort_by=("session_id", "source_id", "version", "position"),
    columns=(
        Column("record_key", pa.string(), "sha256 of (source_id, version, position), hex; what lineage points at"),
        Column("source_id", pa.string(), "sha256 of (source kind, session identity, first record), hex"),
        Column("version", pa.int32(), "0, and one more each time committed bytes changed"),
        Column("position", pa.int64(), "Byte offset of the record in a file; row sequence in a database"),
        Column(
            "source_kind",
            pa.string(),
            "openclaw.transcript | openclaw.trajectory | openclaw.table | openclaw.jsonl | proxy.call …",
        ),
        Column("source_path", pa.string(), "Where it was read from"),
        Column("session_id", pa.string(), "Agent's session id, where known", nullable=True),
        Column(
            "attempt_id", pa.string(), "Attempt of ours it belongs to", nullable=True, references="attempts.attempt_id"
        ),
        Column(
            "raw",
            pa.large_binary(),
            "The record's bytes (decoded when stored compressed), at most 1 MiB",
            nullable=True,
        ),
        Column(
            "raw_blob",
            pa.string(),
            "sha256 in blobs when the record is larger",
            nullable=True,
            references="blobs.sha256",
        ),
        Column("raw_size", pa.int64(), "Length of the record", unit="bytes"),
        Column("raw_sha256", pa.string(), "sha256 of the record's bytes, hex"),
        Column("encoding", pa.string(), "How the source stored it: identity | zstd"),
        Column("stored", pa.large_binary(), "The original bytes when encoding is not identity", nullable=True),
        Column("record_type", pa.string(), "Type field of the record", nullable=True),
        Column("record_id", pa.string(), "Id field of the record", nullable=True),
        Column("parent_id", pa.string(), "Parent id of the record", nullable=True),
        Column("ts", TIMESTAMP, "Time the record states", nullable=True),
        Column("parse_status", pa.string(), "ok | blank | bad_json | not_object | bad_utf8 | bad_zstd | oversized"),
        Column("ingested_at", TIMESTAMP, "When the committer wrote it", role="bookkeeping"),
    ),
)

BLOBS = Table(
    name="blobs",
    stage="lake",
    kind="log",
    doc="Content-addressed files: workspace files, verifier code, prompts, large payloads.",
    grain="one content",
    key=("sha256",),
    columns=(
        Column("sha256", pa.string(), "sha256 of the content, hex"),
        Column("size", pa.int64(), "Length", unit="bytes"),
        Column("mime", pa.string(), "Media type as far as known"),
        Column("data", pa.large_binary(), "The content, up to 1 MiB", nullable=True),
        Column("object_path", pa.string(), "Path below objects/ when larger", nullable=True),
        Column("stored_at", TIMESTAMP, "When the committer wrote it", role="bookkeeping"),
    ),
)

SNAPSHOTS = Table(
    name="snapshots",
    stage="lake",
    kind="log",
    doc="What the lake knew at the end of a run: table name to Delta version.",
    grain="one snapshot",
    key=("snapshot_id",),
    columns=(
        Column("snapshot_id", pa.string(), "sha256 of the versions, first 16 hex digits, behind the UTC time"),
        Column("recorded_at", TIMESTAMP, "When it was taken; --as-of takes the latest not later"),
        Column("run_id", pa.string(), "Run that took it", nullable=True),
        Column("reason", pa.string(), "Job or command that took it"),
        Column("versions", pa.string(), "JSON object: table name to Delta version"),
    ),
)

TABLES = (EVENTS, RAW_RECORDS, BLOBS, SNAPSHOTS)
