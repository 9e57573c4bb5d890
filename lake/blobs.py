"""Blobs: content-addressed files, written once, inline up to 1 MiB and as an object file above.

Belongs here: adding blobs exactly once, whoever races. Does not belong here: reading them (`reader`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable

from lake.durable import fsync
from lake.ids import Json, sha256_hex, utc_now
from lake.schema.log import BLOBS
from lake.settings import MAX_INLINE
from lake.store import Prepared, Store, next_batch

WRITERS: Final = "clawgym.blobs"
"""Application id every append to `blobs` carries, so that two racing ones never both add one content."""

_LOOKUP = 5_000
"""Digests looked up in one query."""

_APPEND_BYTES = 64 * 1024 * 1024
"""Inline content of one append. Bytes."""


@dataclass(frozen=True)
class NewBlob:
    """A blob that may be new: its bytes are read only when it is."""

    sha256: str
    size: int
    mime: str
    read: Callable[[], bytes]
    pieces: Callable[[], Iterable[bytes]] | None = None
    """Gives the same a part at a time, where it is too large to hold."""


def from_bytes(data: bytes, mime: str = "application/octet-stream") -> NewBlob:
    """A blob from memory."""
    return NewBlob(sha256_hex(data), len(data), mime, lambda: data)


def known(store: Store, wanted: Iterable[str], version: int) -> set[str]:
    """Which of these blobs the table holds at a version."""
    shas = sorted(set(wanted))
    found: set[str] = set()
    if not shas:
        return found
    cursor = store.engines.get().cursor({"blobs": store.place("blobs", version)})
    for start in range(0, len(shas), _LOOKUP):
        part = shas[start : start + _LOOKUP]
        query = "select distinct sha256 from blobs where sha256 in (select unnest($wanted))"
        found.update(row[0] for row in cursor.execute(query, {"wanted": part}).fetchall())
    return found


def append(store: Store, blobs: Iterable[NewBlob]) -> int:
    """Add the blobs that are not there yet; returns how many there were.

    Args:
        blobs: what to add; equal contents once.
    """
    unique = {blob.sha256: blob for blob in blobs}
    added = 0
    for part in _portions(list(unique.values())):
        count = 0

        def prepare(table: DeltaTable, part: list[NewBlob] = part) -> Prepared | None:
            nonlocal count
            present = known(store, (blob.sha256 for blob in part), table.version())
            new = [blob for blob in part if blob.sha256 not in present]
            count = len(new)
            if not new:
                return None
            return _rows(store, new), {WRITERS: next_batch(table, WRITERS)}

        added += count if store.transact("blobs", prepare) else 0
    return added


def _portions(blobs: list[NewBlob]) -> Iterable[list[NewBlob]]:
    part: list[NewBlob] = []
    size = 0
    for blob in blobs:
        inline = blob.size if blob.size <= MAX_INLINE else 0
        if part and size + inline > _APPEND_BYTES:
            yield part
            part, size = [], 0
        part.append(blob)
        size += inline
    if part:
        yield part


def _rows(store: Store, blobs: list[NewBlob]) -> pa.Table:
    now = utc_now()
    rows: list[dict[str, Json]] = []
    for blob in sorted(blobs, key=lambda blob: blob.sha256):
        row: dict[str, Json] = {"sha256": blob.sha256, "size": blob.size, "mime": blob.mime, "stored_at": now}
        if blob.size <= MAX_INLINE:
            row["data"] = blob.read()
        else:
            row["object_path"] = _write_object(store.root / "objects", blob)
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=BLOBS.arrow)


def _write_object(objects: Path, blob: NewBlob) -> str:
    relative = f"{blob.sha256[:2]}/{blob.sha256}"
    target = objects / relative
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f"{blob.sha256}.{os.getpid()}.tmp")
        with temporary.open("wb") as file:
            for piece in (blob.read(),) if blob.pieces is None else blob.pieces():
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        fsync(target.parent)
        fsync(objects)
    return relative
