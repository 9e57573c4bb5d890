"""Line files: OpenClaw's transcripts, trajectories, cold archives and cron runs; our proxy's log; ATIF and chats.

Told apart by what is in the lines, never by the name alone: archives carry every name there is. The name decides only
for a file in which no object can be read (a torn or empty transcript is still a transcript).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Final

from assets.logs.decode import decode
from assets.logs.reader import HEAD_BYTES, Line, Source, text_of
from assets.logs.readers.documents import ATIF, ATIF_LINES, CHAT, kind_of
from assets.logs.readers.streams import FileSource
from assets.rollouts.proxy.record import RECORD_TYPE
from lake.ids import Json

_ENTRY_TYPES: Final = frozenset(
    {
        "branch_summary",
        "compaction",
        "custom",
        "custom_message",
        "label",
        "leaf",
        "message",
        "model_change",
        "reset",
        "session",
        "session_info",
        "thinking_level_change",
    }
)
_LOOK: Final = 50
"""Lines looked at to recognise a file."""

_NAME: Final = re.compile(r"^(?P<stem>.+?)(?:-topic-[^.]+)?(?:\.checkpoint\.[^.]+)?\.jsonl(?![a-z])", re.IGNORECASE)
CRON: Final = "openclaw.cron"
COLD: Final = "openclaw.cold"
"""A transcript moved out of the database: each of its rows wrapped with what the database knew of it."""

_COMPRESSED: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


class JsonlReader:
    """See the module."""

    name = "jsonl"

    def sources(self, path: Path, head: bytes) -> list[Source] | None:
        """See `Reader.sources`; None for lines of other kinds and for what is not text."""
        if b"\x00" in head[:512] and not head.startswith(_COMPRESSED):
            return None
        name = _NAME.match(path.name)
        lines = islice(_lines(path, head), _LOOK)
        first = next(lines, None)
        if first is None:
            return None
        stem = text_of(name["stem"] if name else path.name)
        value = None
        objects = _objects(chain([first], lines))
        for value in objects:
            source = _recognise(path, value, objects, stem)
            if source is not None:
                return [source]
        if value is None and name is not None:
            return [FileSource("openclaw.jsonl", str(path), stem, stem)]
        return None


def _lines(path: Path, head: bytes) -> Iterator[Line]:
    """The lines of a file, which is not read again when its head is all of it."""
    if len(head) >= HEAD_BYTES or head.startswith(_COMPRESSED):
        yield from FileSource("", str(path), None, "").lines()
        return
    position = 0
    for line in io.BytesIO(head):  # one after the other: mostly the first one tells
        yield Line(position, line.removesuffix(b"\n"), line.endswith(b"\n"))
        position += len(line)


def _objects(lines: Iterator[Line]) -> Iterator[dict[str, Json]]:
    """What can be read of the lines, each decoded only when it is its turn: mostly the first one tells."""
    decoded = (decode(line.raw, first=line.position == 0).value for line in lines)
    return (value for value in decoded if value is not None)


def _recognise(path: Path, value: dict[str, Json], later: Iterator[dict[str, Json]], stem: str) -> Source | None:
    if value.get("traceSchema") == "openclaw-trajectory":
        session = value.get("sessionId") if isinstance(value.get("sessionId"), str) else stem
        return FileSource("openclaw.trajectory.jsonl", str(path), session, session or stem)
    if value.get("type") == RECORD_TYPE and isinstance(value.get("request"), dict):
        return FileSource(RECORD_TYPE, str(path), None, str(value.get("attempt_id") or stem))
    if not isinstance(value.get("type"), str):
        return _untyped(path, value, stem)
    if value["type"] not in _ENTRY_TYPES:
        return None
    if value["type"] == "message" and not isinstance(value.get("message"), dict):
        return None
    headers = (o.get("id") for o in chain([value], later) if o.get("type") == "session")
    session = next((found for found in headers if isinstance(found, str) and found), stem)
    return FileSource("openclaw.jsonl", str(path), session, session)


def _untyped(path: Path, value: dict[str, Json], stem: str) -> Source | None:
    """Line files whose records state no type."""
    kind = kind_of(value)
    if kind in (ATIF, CHAT):
        return FileSource(ATIF_LINES if kind == ATIF else CHAT, str(path), None, "")
    if isinstance(value.get("jobId"), str) and "action" in value and "ts" in value:
        return FileSource(CRON, str(path), None, value["jobId"])
    if value.get("kind") == "header" and isinstance(value.get("sessionId"), str) and "generation" in value:
        return FileSource(COLD, str(path), value["sessionId"], f"{value['sessionId']}/{value['generation']}")
    return None
