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

TABLES = (SOURCES,)
