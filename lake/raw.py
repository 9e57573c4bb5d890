"""Raw records: bytes others wrote, appended exactly once by (source, version, batch).

Belongs here: the append, and what follows from the bytes alone (key, size, digest, spilling of large records).
Does not belong here: reading sources, parsing, source identity (see `assets/logs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import pyarrow as pa

from lake import blobs as _blobs
from lake import crash
from lake.errors import LogError, ReplayError
from lake.ids import Json, record_key, sha256_hex, utc_now
from lake.schema.log import RAW_RECORDS
from lake.settings import MAX_INLINE
from lake.spool import effects_forbidden
from lake.store import Store

FORGET: Final = "forget"
"""Stream kind of sources taken out of the lake on purpose; the stream id is the source id."""

REQUIRED = ("version", "position", "source_kind", "source_path", "raw", "encoding", "parse_status")
"""What every row must bring; `record_key`, `source_id`, `raw_size`, `raw_sha256`, `ingested_at` are filled in."""


def append_raw(
    store: Store,
    source_id: str,
    batch_no: int,
    rows: Sequence[Mapping[str, Json]] | pa.Table,
    blobs: Iterable[bytes] = (),
) -> bool:
    """Append one batch of records of one version of one source, exactly once.

    Args:
        store: the tables.
        source_id: the source; all rows belong to it.
        batch_no: rises from batch to batch of a version; a batch not above the last one in the lake is left out.
        rows: records with the columns of `raw_records`; `raw` holds the bytes, however large.
        blobs: contents the records refer to (images lifted out of them), stored before the records.

    Returns:
        False when this batch is in the lake already, or its source was forgotten and stays so.

    Raises:
        LogError: rows of several versions or of another source, or a missing column.
    """
    if effects_forbidden.get():
        raise ReplayError("a replay tried to append raw records; projections must be pure functions of the log")
    records = rows.to_pylist() if isinstance(rows, pa.Table) else [dict(row) for row in rows]
    if not records:
        return False
    version = _one_version(source_id, records)
    if is_forgotten(store, source_id):
        return False
    now = utc_now()
    large = [_blobs.from_bytes(data) for data in blobs]
    for record in records:
        spilled = _complete(record, source_id, version)
        record["ingested_at"] = now
        if spilled is not None:
            large.append(spilled)
    if large:
        _blobs.append(store, large)
    done = store.append(
        "raw_records",
        pa.Table.from_pylist(records, schema=RAW_RECORDS.arrow),
        {f"{source_id}@{version}": batch_no},
    )
    crash.point("ingest.after_batch")
    return done


def is_forgotten(store: Store, source_id: str) -> bool:
    """Whether a source was taken out of the lake on purpose."""
    events = store.place("events")
    query = "select 1 from events where stream_kind = $kind and stream_id = $source limit 1"
    cursor = store.engines.get().cursor({"events": events})
    return cursor.execute(query, {"kind": FORGET, "source": source_id}).fetchone() is not None


def put_blobs(store: Store, contents: Iterable[bytes], mime: str) -> list[str]:
    """Store contents directly, each once; returns their sha256 in the same order."""
    if effects_forbidden.get():
        raise ReplayError("a replay tried to store blobs; projections must be pure functions of the log")
    new = [_blobs.from_bytes(data, mime) for data in contents]
    _blobs.append(store, new)
    return [blob.sha256 for blob in new]


def _one_version(source_id: str, records: list[dict[str, Json]]) -> int:
    for record in records:
        missing = [name for name in REQUIRED if name not in record]
        if missing:
            raise LogError(f"a raw record of source {source_id} has no {', '.join(missing)}; see lake/raw.py")
        if record.get("source_id", source_id) != source_id:
            raise LogError(f"a batch of source {source_id} holds a record of source {record['source_id']}; split it")
    versions = sorted({int(record["version"]) for record in records})
    if len(versions) != 1:
        raise LogError(f"a batch of source {source_id} holds versions {versions}; append one version at a time")
    return versions[0]


def _complete(record: dict[str, Json], source_id: str, version: int) -> _blobs.NewBlob | None:
    """Fill in what follows from the bytes; gives the blob when they are too many for a row."""
    record["source_id"] = source_id
    record["record_key"] = record_key(source_id, version, record["position"])
    raw = record["raw"]
    if raw is None:  # its bytes are in blobs already
        if not record.get("raw_blob") or record.get("raw_size") is None:
            raise LogError(f"record {record['position']} of source {source_id} has neither bytes nor a blob")
        record["raw_sha256"] = record["raw_blob"]
        return None
    record["raw_size"] = len(raw)
    record["raw_sha256"] = sha256_hex(raw)
    if len(raw) <= MAX_INLINE:
        return None
    record["raw"], record["raw_blob"] = None, record["raw_sha256"]
    return _blobs.from_bytes(raw)
