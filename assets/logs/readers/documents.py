"""Files that are one JSON document: ATIF trajectories, Harbor's trial results, OpenClaw's index of sessions, chats.

A document is one record, whatever its length. Told by its content; a file that only begins like a document of these
kinds (cut, or too large to decode) is taken too, since losing it would be silent. Does not belong here: line files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from assets.logs.decode import MAX_DECODED, decode
from assets.logs.reader import Source, text_of
from assets.logs.readers.streams import WholeFile, file_chunks
from lake.ids import Json, canonical, digest

ATIF: Final = "atif"
ATIF_LINES: Final = "atif.jsonl"
CHAT: Final = "chat.messages"
INDEX: Final = "openclaw.sessions"
TRIAL: Final = "harbor.trial"

INDEX_NAME: Final = "sessions.json"

_ATIF_VERSION: Final = re.compile(rb'"schema_version"\s*:\s*"ATIF-v', re.IGNORECASE)
_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_LOOK: Final = 64 * 1024
_PACKED: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
_TRAJECTORIES: Final = ("agent/trajectory.json", "trajectory.json")
"""Where a trial keeps its trajectory: newer and older Harbor."""


class DocumentReader:
    """See the module."""

    name = "documents"

    def sources(self, path: Path, head: bytes) -> list[Source] | None:
        """See `Reader.sources`; None for line files and for documents of other kinds."""
        if head.startswith(_PACKED):
            head = b"".join(file_chunks(path, 0, _LOOK))
        if not _may_be_document(head, lines=".jsonl" in path.name.lower()):
            return None
        data = read_document(path)
        value = None if data is None else decode(data, first=True).value
        if value is None:
            return _unreadable(path, head)
        kind = kind_of(value)
        if kind == ATIF:
            return [WholeFile(ATIF, str(path), session_of(value), atif_identity(value, path.stem))]
        if kind == CHAT:
            return [WholeFile(CHAT, str(path), None, "")]
        if kind == TRIAL:
            name = str(value.get("id") or value["trial_name"])
            return [WholeFile(TRIAL, str(path), _session_of_trial(path), name)]
        if kind == INDEX:
            return [WholeFile(INDEX, str(path), None, text_of(path))]
        return None


def kind_of(value: Mapping[str, Json]) -> str | None:
    """Kind of a document by its content; None for all others."""
    version = value.get("schema_version")
    if isinstance(version, str) and version.upper().startswith("ATIF-V"):
        return ATIF
    if is_chat(value):
        return CHAT
    if isinstance(value.get("trial_name"), str) and isinstance(value.get("task_name"), str):
        return TRIAL
    return INDEX if is_index(value) else None


def is_chat(value: Mapping[str, Json]) -> bool:
    """Whether a record is a conversation in OpenAI's chat messages."""
    messages = value.get("messages")
    return (
        isinstance(messages, list)
        and bool(messages)
        and all(isinstance(message, dict) and str(message.get("role")) in _ROLES for message in messages)
    )


def is_index(value: Mapping[str, Json]) -> bool:
    """Whether a document is OpenClaw's index of sessions: key to entry, or (early) a list of entries."""
    listed = value.get("sessions")
    if isinstance(listed, list) and len(value) == 1:
        return all(isinstance(entry, dict) and isinstance(entry.get("id"), str) for entry in listed) and bool(listed)
    entries = list(value.values())
    return bool(entries) and all(isinstance(e, dict) and isinstance(e.get("sessionId"), str) for e in entries)


def atif_identity(value: Mapping[str, Json], stem: str) -> str:
    """What stays the same while an ATIF document grows.

    Its own id where it has one; else its run, its name without folder and its first step: several documents of one run
    may share the run's id, and all of them are called alike in many folders.
    """
    if isinstance(value.get("trajectory_id"), str) and value["trajectory_id"]:
        return f"{value.get('session_id')}/{value['trajectory_id']}"
    steps = value.get("steps")
    first = steps[0] if isinstance(steps, list) and steps else None
    return digest(canonical([value.get("session_id"), stem, first]))


def session_of(value: Mapping[str, Json]) -> str | None:
    """The run an ATIF document states."""
    found = value.get("session_id") or value.get("trajectory_id")
    return found if isinstance(found, str) and found else None


def read_document(path: Path) -> bytes | None:
    """Bytes of a file after decompression; None when they are none or too many to be decoded."""
    data = b"".join(file_chunks(path, 0, MAX_DECODED + 1))
    return data if 0 < len(data) <= MAX_DECODED else None


def _may_be_document(head: bytes, *, lines: bool) -> bool:
    """Whether a file may be one JSON object: decided by its first line, so that line files cost next to nothing.

    Args:
        head: its first bytes, after decompression.
        lines: its name says that its lines are records; a single line is one of them, then.
    """
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start.startswith(b"{") or start.startswith(b'{"type":'):
        return False
    end = head.find(b"\n")
    if end < 0:
        return not (lines and len(head) < _LOOK)
    if not head[end:].strip():
        return not lines
    try:
        msgspec.json.decode(head[:end])
    except (ValueError, RecursionError):
        return True  # the first line is no record of its own
    return False


def _unreadable(path: Path, head: bytes) -> list[Source] | None:
    if _ATIF_VERSION.search(head) and not _is_record(head):
        return [WholeFile(ATIF, str(path), None, text_of(path))]
    if path.name == INDEX_NAME:
        return [WholeFile(INDEX, str(path), None, text_of(path))]
    return None


def _is_record(head: bytes) -> bool:
    """Whether the first line is a whole record, so that the file is one of lines."""
    return decode(head.split(b"\n", 1)[0], first=True).value is not None


def _session_of_trial(path: Path) -> str | None:
    """The run of the trajectory beside a trial's result, which ties the two together."""
    for name in _TRAJECTORIES:
        trajectory = path.parent / name
        if not trajectory.is_file():
            continue
        data = read_document(trajectory)
        value = None if data is None else decode(data, first=True).value
        if value is not None and kind_of(value) == ATIF:
            return session_of(value)
    return None
