"""Raw records: bytes others wrote, appended exactly once by (source, version, batch).

Belongs here: the append, and what follows from the bytes alone (key, size, digest, spilling of large records).
Does not belong here: reading sources, parsing, source identity (see `assets/logs`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal, TypeAlias

import numpy as np
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

Column: TypeAlias = "Sequence[Json] | pa.Array"
"""Values of a column, one a record."""

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
    columns: Mapping[str, Column]
    """Columns of `raw_records`, one value a record. `raw` holds the bytes, however large; where it is None, `raw_blob`
    and `raw_size` say where they are."""
    same: Mapping[str, Json]
    """Columns that have one value for all records of the batch."""
    large: Sequence[_blobs.NewBlob] = ()
    """What records name in `raw_blob`, where it is too large to hold; stored before them."""

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
    large = [_blobs.from_bytes(data) for data in blobs]
    parts = {batch.application: _part(batch, large) for batch in wanted}
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
        rows = _table([parts[batch.application] for batch in left])
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


@dataclass(frozen=True)
class _Part:
    """A batch with all that follows from its bytes."""

    size: int
    columns: Mapping[str, Column]
    same: Mapping[str, Json]
    """Columns with one value."""
    keys: bytes
    """Digests behind `record_key`, one after the other."""
    shas: bytes
    """Digests behind `raw_sha256`."""


def _table(parts: Sequence[_Part]) -> pa.Table:
    """Rows of several batches, a column at a time: value by value and batch by batch costs several times more."""
    rows = sum(part.size for part in parts)
    of_part = pa.array(np.repeat(np.arange(len(parts)), [part.size for part in parts]))
    arrays: list[pa.Array] = []
    for field in RAW_RECORDS.arrow:
        if field.name == "record_key":
            arrays.append(_hex([part.keys for part in parts]))
        elif field.name == "raw_sha256":
            arrays.append(_hex([part.shas for part in parts]))
        elif field.name == "ingested_at":
            arrays.append(pa.repeat(pa.scalar(utc_now(), field.type), rows))
        elif any(field.name in part.columns for part in parts):
            arrays.append(_values(field, parts))
        else:
            arrays.append(pa.array([part.same.get(field.name) for part in parts], field.type).take(of_part))
    return pa.table(arrays, RAW_RECORDS.arrow)


def _values(field: pa.Field, parts: Sequence[_Part]) -> pa.Array:
    """A column in which the records of a batch differ."""
    given = [
        part.columns[field.name] if field.name in part.columns else [part.same.get(field.name)] * part.size
        for part in parts
    ]
    if not any(isinstance(values, pa.Array) for values in given):
        every = list(chain.from_iterable(given))
        return _binary(every) if field.name == "raw" and None not in every else pa.array(every, field.type)
    return pa.concat_arrays([v if isinstance(v, pa.Array) else pa.array(v, field.type) for v in given])


def _binary(values: Sequence[bytes]) -> pa.Array:
    """Bytes as an array, each copied once; a builder that grows copies them several times."""
    offsets = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=offsets[1:])
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
    )


def _hex(digests: Sequence[bytes]) -> pa.Array:
    """sha256 digests, any number in each piece, as an array of hex texts."""
    text = b"".join(digests).hex().encode()
    offsets = np.arange(0, len(text) + 1, 64, dtype=np.int32)
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(text))


def _part(batch: Batch, large: list[_blobs.NewBlob]) -> _Part:
    """Check a batch and derive what follows from it; adds contents too large for a row to `large`."""
    given = {*batch.same, *batch.columns}
    missing = [name for name in REQUIRED if name != "version" and name not in given]
    uneven = [name for name, values in batch.columns.items() if len(values) != batch.size]
    if missing or uneven:
        what = f"has no {', '.join(missing)}" if missing else f"has another number of {', '.join(uneven)}"
        raise LogError(f"a batch of {batch.size} records of source {batch.source_id} {what}; see lake/raw.py")
    columns = dict(batch.columns)
    large.extend(batch.large)
    shas = _describe_bytes(batch, columns, large)
    same = {**batch.same, "source_id": batch.source_id, "version": batch.version}
    return _Part(batch.size, columns, same, _record_keys(batch, batch.columns["position"]), shas)


def _describe_bytes(batch: Batch, columns: dict[str, Column], large: list[_blobs.NewBlob]) -> bytes:
    """Fill in `raw_size` and, for bytes that are not in the row, `raw` and `raw_blob`; returns digests of all bytes."""
    raws = batch.columns["raw"]
    if None not in raws and max(found := list(map(len, raws))) <= MAX_INLINE:
        columns["raw_size"] = found
        columns.pop("raw_blob", None)
        return b"".join([hashlib.sha256(raw).digest() for raw in raws])
    blobs = list(columns.get("raw_blob", [None] * batch.size))
    sizes = list(columns.get("raw_size", [None] * batch.size))
    rows, shas = list(raws), []
    for at, raw in enumerate(raws):
        if raw is None:  # its bytes are in blobs already
            if not blobs[at] or sizes[at] is None:
                position = batch.columns["position"][at]
                raise LogError(f"record {position} of source {batch.source_id} has neither bytes nor a blob")
            shas.append(blobs[at])
            continue
        shas.append(sha256_hex(raw))
        sizes[at] = len(raw)
        blobs[at] = None
        if len(raw) > MAX_INLINE:
            rows[at], blobs[at] = None, shas[at]
            large.append(_blobs.from_bytes(raw))
    columns.update(raw=rows, raw_blob=blobs, raw_size=sizes)
    return bytes.fromhex("".join(shas))


def _record_keys(batch: Batch, positions: Column) -> bytes:
    """Digests behind the `record_key` of each position; what all of them begin with is hashed once."""
    start = hashlib.sha256(canonical([batch.source_id, batch.version])[:-1].encode("utf-8", "surrogatepass"))
    keys: list[bytes] = []
    for position in positions:
        hasher = start.copy()
        hasher.update(b",%d]" % position)
        keys.append(hasher.digest())
    return b"".join(keys)
