"""The contract of a format: a document in, conversations out, each as records of an OpenClaw session.

Belongs here: the types and the records' shapes. Does not belong here: what any format's fields mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from lake.ids import Json

SESSION_VERSION: Final = 3
"""Format of the records that are made."""


@dataclass
class Conversation:
    """One conversation of a document."""

    session_id: str | None
    """As the document states it."""
    parent: str | None = None
    """Session that spawned or preceded it."""
    started: Json = None
    """The document's own time of its beginning."""
    system: str | None = None
    """What stood before the first message."""
    tools: Json = None
    """OpenAI tool schemas."""
    harness: str | None = None
    """Agent software and its version."""
    records: list[dict[str, Json]] = field(default_factory=list)
    """Session records without ids; they follow each other."""
    copied: set[int] = field(default_factory=set)
    """Numbers of records that the document says were copied from an earlier one."""
    notes: list[tuple[str, str]] = field(default_factory=list)
    """(rule, detail) of what could not be taken over, for the whole document."""

    def say(self, message: dict[str, Json], time: Json = None, *, copied: bool = False) -> None:
        """Add a message, in OpenClaw's shape."""
        stated = {key: value for key, value in message.items() if value is not None}
        self._add({"type": "message", "timestamp": time, "message": stated}, copied)

    def insert(self, text: str, origin: str, time: Json = None, *, copied: bool = False) -> None:
        """Add words in the context that neither the user nor the model said."""
        record = {"type": "custom_message", "timestamp": time, "customType": origin, "content": text}
        self._add(record, copied)

    def _add(self, record: dict[str, Json], copied: bool) -> None:
        if copied:
            self.copied.add(len(self.records))
        self.records.append({key: value for key, value in record.items() if value is not None})


Format = Callable[[dict[str, Json]], list[Conversation]]
"""Conversations of a document, the main one first; none when it holds none. Never raises on any JSON object."""


def blocks_of(content: Json) -> list[Json]:
    """Content parts of OpenAI's and ATIF's forms as OpenClaw's blocks; a text is one block."""
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    parts = content if isinstance(content, list) else [content]
    return [_block(part) for part in parts]


def _block(part: Json) -> Json:
    if not isinstance(part, dict):
        return part
    kind = part.get("type")
    if kind in ("input_text", "output_text"):
        return {"type": "text", "text": part.get("text")}
    if kind == "image_url":
        stated = part.get("image_url")
        url = stated.get("url") if isinstance(stated, dict) else stated
        return _image_of_url(url)
    if kind in ("image", "audio") and isinstance(part.get("source"), dict):
        source = part["source"]
        return {"type": "text", "text": f"[{kind} {source.get('media_type')}, {source.get('path')}]"}
    return part


def _image_of_url(url: Json) -> Json:
    if isinstance(url, str) and url.startswith("data:") and ";base64," in url:
        media, data = url[5:].split(";base64,", 1)
        return {"type": "image", "mimeType": media, "data": data}
    return {"type": "text", "text": f"[image {url}]"}


def text_in(content: Json) -> str:
    """The text of a content, parts put on lines of their own."""
    texts = [block.get("text") for block in blocks_of(content) if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
