"""OpenClaw's cold archives: a transcript moved out of its database, each row wrapped with what the database knew of it.

The rows' texts are the transcript's records; the other lines (identities, search index) are metadata.
"""

from __future__ import annotations

from typing import Final

from assets.logs.decode import decode
from assets.trajectories.entries import Row
from lake.ids import Json

METADATA: Final = frozenset({"header", "identity", "active", "index", "fts"})


def record_in(row: Row) -> bytes | str:
    """The record a line wraps, else `metadata`, or the empty text when it cannot be read."""
    value: dict[str, Json] | None = decode(row.raw, first=row.position == 0).value if row.raw is not None else None
    if value is None:
        return ""
    inner = value.get("row")
    if value.get("kind") == "event" and isinstance(inner, dict) and isinstance(inner.get("event_json"), str):
        record: str = inner["event_json"]
        return record.encode("utf-8", "replace")
    return "metadata" if str(value.get("kind")) in METADATA else ""
