"""Raw records: bytes others wrote, appended exactly once by (source, version, batch).

Belongs here: the append, and what follows from the bytes alone (key, size, digest, spilling of large records).
Does not belong here: reading sources, parsing, source identity (see `assets/logs`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Final, Literal

import pyarrow as pa
from deltalake import DeltaTable

from lake import blobs as _blobs
from lake import crash
from lake.errors import LogError, ReplayError
from lake.ids import Json, canonical, sha256_hex, utc_now
from lake.schema.log import RAW_RECORDS
from lake.settings import MAX_INLINE
from lake.spool import effects_forbidden
from lake.store import Prepared, Store, TransactionsSince, is_done

FORGET: Final = "forget"
"""Stream kind of sources taken out of the lake on purpose; the stream id is the source id."""

REQUIRED: Final = ("version", "position", "source_kind", "source_path", "raw", "encoding", "parse_status")
"""What every row must bring; `record_key`, `source_id`, `raw_size`, `raw_sha256`, `ingested_at` are filled in."""

_OPTIONAL: Final = ("session_id", "attempt_id", "stored", "record_type", "record_id", "parent_id", "ts")
_GIVEN: Final = tuple(name for name in (*REQUIRED, *_OPTIONAL) if name != "version")

Outcome = Literal["appended", "there", "forgotten"]
"""What became of a batch: it went in, it (or a later one) was in already, or its source was forgotten and stays so."""


@dataclass(frozen=True)
class Batch:
    """Some records of one version of one source, by column."""

    source_id: str
    version: int
    number: int
    """Rises from batch to batch of a version."""
    size: int
    """Number of records."""
    columns: Mapping[str, Sequence[Json]]
    """Columns of `raw_records`, one value a record. `raw` holds the bytes, however large; where it is None, `raw_blob`
    and `raw_size` say where they are."""
    same: Mapping[str, Json]
    """Columns that have one value for all records of the batch."""

    @property
    def application(self) -> str:
        """Application id of its transaction."""
        return f"{self.source_id}@{self.version}"


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
    records = rows.to_pylist() if isinstance(rows, pa.Table) else rows
    if not records:
        return False
    version = _one_version(source_id, records)
    names = (*_GIVEN, "raw_blob", "raw_size")
    columns = {name: [record.get(name) for record in records] for name in names}
    batch = Batch(source_id, version, batch_no, len(records), columns, {})
    return append_raw_many(store, [batch], blobs=blobs) == ["appended"]


def append_raw_many(
    store: Store, batches: Sequence[Batch], *, since: TransactionsSince | None = None, blobs: Iterable[bytes] = ()
) -> list[Outcome]:
    """Append batches of several sources in one commit, each exactly once.

    A batch that somebody else appended first, before or while this runs, is left out; the others go in.

    Args:
        store: the tables.
        batches: at most one of a version of a source. All of them are held in memory, twice.
        since: the transactions committed after the state the batches were planned from, where the caller knows that
            state to hold none of them; else each one is looked up in the table, which costs milliseconds.
        blobs: contents the records refer to, stored before the records.

    Returns:
        What became of each batch, in their order.

    Raises:
        LogError: a record without bytes or blob, a batch without a required column, or two batches of one version.
    """
    if effects_forbidden.get():
        raise ReplayError("a replay tried to append raw records; projections must be pure functions of the log")
    if len({batch.application for batch in batches}) != len(batches):
        raise LogError("two batches of one version of a source in one append; append one after the other")
    forgotten = _forgotten(store) if batches else set()
    wanted = [batch for batch in batches if batch.size and batch.source_id not in forgotten]
    now = utc_now()
    large = [_blobs.from_bytes(data) for data in blobs]
    columns = {batch.application: _columns(batch, now, large) for batch in wanted}
    if large:
        _blobs.append(store, large)
    left: list[Batch] = []

    def prepare(table: DeltaTable) -> Prepared | None:
        nonlocal left
        if since is None:
            left = [batch for batch in wanted if not is_done(table, batch.application, batch.number)]
        else:
            since.read(table.version())
            left = [batch for batch in wanted if since.last(batch.application) < batch.number]
        if not left:
            return None
        rows = _table([columns[batch.application] for batch in left])
        return rows, {batch.application: batch.number for batch in left}

    if wanted and not store.transact("raw_records", prepare):
        left = []
    crash.point("ingest.after_batch")
    went = {batch.application for batch in left}
    return [
        "forgotten" if batch.source_id in forgotten else "appended" if batch.application in went else "there"
        for batch in batches
    ]


def _forgotten(store: Store) -> set[str]:
    cursor = store.engines.get().cursor({"events": store.place("events")})
    found = cursor.execute("select distinct stream_id from events where stream_kind = $kind", {"kind": FORGET})
    return {row[0] for row in found.fetchall()}


def put_blobs(store: Store, contents: Iterable[bytes], mime: str) -> list[str]:
    """Store contents directly, each once; returns their sha256 in the same order."""
    if effects_forbidden.get():
        raise ReplayError("a replay tried to store blobs; projections must be pure functions of the log")
    new = [_blobs.from_bytes(data, mime) for data in contents]
    _blobs.append(store, new)
    return [blob.sha256 for blob in new]


def _one_version(source_id: str, records: Sequence[Mapping[str, Json]]) -> int:
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


def _table(parts: Sequence[Mapping[str, Sequence[Json]]]) -> pa.Table:
    """Rows of several batches; one conversion a column, since each costs more than the values of a small batch."""
    names = RAW_RECORDS.arrow.names
    values = {name: list(chain.from_iterable(part[name] for part in parts)) for name in names}
    arrays = [pa.array(values.pop(field.name), field.type) for field in RAW_RECORDS.arrow]
    return pa.table(arrays, RAW_RECORDS.arrow)


def _columns(batch: Batch, now: datetime, large: list[_blobs.NewBlob]) -> dict[str, Sequence[Json]]:
    """The batch in all columns of the table; adds contents too large for a row to `large`."""
    given = {**{name: [value] * batch.size for name, value in batch.same.items()}, **batch.columns}
    missing = [name for name in REQUIRED if name != "version" and name not in given]
    uneven = [name for name, values in given.items() if len(values) != batch.size]
    if missing or uneven:
        what = f"has no {', '.join(missing)}" if missing else f"has another number of {', '.join(uneven)}"
        raise LogError(f"a batch of {batch.size} records of source {batch.source_id} {what}; see lake/raw.py")
    full = {**given, **_derived(batch, given, large)}
    full["source_id"] = [batch.source_id] * batch.size
    full["version"] = [batch.version] * batch.size
    full["record_key"] = _record_keys(batch, given["position"])
    full["ingested_at"] = [now] * batch.size
    empty = [None] * batch.size
    return {name: full.get(name, empty) for name in RAW_RECORDS.arrow.names}


def _derived(
    batch: Batch, given: Mapping[str, Sequence[Json]], large: list[_blobs.NewBlob]
) -> dict[str, Sequence[Json]]:
    raws, blobs, shas = list(given["raw"]), list(given.get("raw_blob", [None] * batch.size)), []
    sizes = list(given.get("raw_size", [None] * batch.size))
    for at, raw in enumerate(raws):
        if raw is None:  # its bytes are in blobs already
            if not blobs[at] or sizes[at] is None:
                position = given["position"][at]
                raise LogError(f"record {position} of source {batch.source_id} has neither bytes nor a blob")
            shas.append(blobs[at])
            continue
        sha = sha256_hex(raw)
        shas.append(sha)
        sizes[at] = len(raw)
        blobs[at] = None
        if len(raw) > MAX_INLINE:
            raws[at], blobs[at] = None, sha
            large.append(_blobs.from_bytes(raw))
    return {"raw": raws, "raw_blob": blobs, "raw_size": sizes, "raw_sha256": shas}


def _record_keys(batch: Batch, positions: Sequence[int]) -> list[str]:
    """`record_key` of each position; what all of them begin with is hashed once."""
    start = hashlib.sha256(canonical([batch.source_id, batch.version])[:-1].encode("utf-8", "surrogatepass"))
    keys: list[str] = []
    for position in positions:
        hasher = start.copy()
        hasher.update(b",%d]" % position)
        keys.append(hasher.hexdigest())
    return keys
