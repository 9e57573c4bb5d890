"""Digests of tables: the same content gives the same hash, whatever the files on disk look like.

Hash over rows in key order, canonical encoding, content columns only (the schema marks bookkeeping).
"""

from __future__ import annotations

import hashlib
from datetime import datetime

import pyarrow as pa

from lake.ids import Json, canonical
from lake.schema import TABLES


def table_digest(name: str, rows: pa.Table) -> str:
    """sha256 (hex) over the content columns of `rows`, which need not be sorted."""
    spec = TABLES[name]
    ordered = rows.sort_by([(column, "ascending") for column in spec.key])
    hasher = hashlib.sha256()
    for batch in ordered.select(list(spec.content_columns)).to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            hasher.update(canonical([_plain(row[c]) for c in spec.content_columns]).encode("utf-8", "surrogatepass"))
            hasher.update(b"\n")
    return hasher.hexdigest()


def _plain(value: Json) -> Json:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, float) and value != value:
        return "NaN"
    return value
