"""Content of a message to plain parts: text, thinking, calls, images; whatever JSON type it came in.

Belongs here: reading content blocks. Does not belong here: leaving out parts of a text (`wording`).
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Final

import msgspec

from assets.trajectories.entries import Entry
from assets.trajectories.findings import Findings, Place
from assets.trajectories.rules import fields, pairing
from lake.ids import Json, sha256_hex
from lake.ids import dumps as dumps

MAX_TEXT: Final = 1_000_000
"""Texts the model was given are cut in clean text when longer. Characters."""
_KEPT_TEXT: Final = 16_384
"""Kept of such a text at each end. Characters."""

_decode = msgspec.json.Decoder().decode


@dataclass(slots=True)
class Call:
    """One tool call as the model made it."""

    id: str
    name: str
    arguments: dict[str, Json]
    stated_id: str | None
    """As the log states it; null when it stated none."""


@dataclass(slots=True)
class Content:
    """Parts of one message."""

    text: str = ""
    thinking: str = ""
    calls: list[Call] = field(default_factory=list)
    images: int = 0


def read_content(entry: Entry, findings: Findings, *, joiner: str) -> Content:
    """Parts of an entry's message.

    Args:
        entry: a message.
        findings: takes what was odd.
        joiner: put between text blocks.
    """
    found = Content()
    value = entry.message.get("content")
    if isinstance(value, str):
        found.text = _bounded(entry, value, findings)
        return found
    if isinstance(value, dict):
        findings.add(entry, fields.ODD_CONTENT, "an object for a list")
        value = [value]
    if not isinstance(value, list):
        if value is not None or entry.role in ("user", "toolResult"):
            findings.add(entry, fields.ODD_CONTENT, f"{type(value).__name__} for a list")
        if value is not None:
            found.text = dumps(value)
        return found
    texts: list[str] = []
    for index, block in enumerate(value):
        _block(entry, index, block, found, texts, findings)
    found.text = _bounded(entry, joiner.join(texts) if len(texts) != 1 else texts[0], findings)
    return found


def _bounded(entry: Entry, text: str, findings: Findings) -> str:
    """A text the model was given, its middle left out when it is too long; what a model wrote is never cut."""
    if len(text) <= MAX_TEXT or entry.role == "assistant":
        return text
    left_out, sha = len(text) - 2 * _KEPT_TEXT, sha256_hex(text)
    findings.add(entry, fields.OVERSIZED_VALUE, f"sha256 {sha}, {len(text)} characters")
    note = f"[… {left_out} of {len(text)} characters left out, sha256 {sha} …]"
    return f"{text[:_KEPT_TEXT]}\n{note}\n{text[-_KEPT_TEXT:]}"


def _block(entry: Entry, index: int, block: Json, found: Content, texts: list[str], findings: Findings) -> None:
    if not isinstance(block, dict):
        findings.add(entry, fields.ODD_CONTENT, f"{type(block).__name__} for a content block")
        if isinstance(block, str):
            texts.append(block)
        elif block is not None:
            texts.append(dumps(block))
        return
    kind = block.get("type")
    if kind == "text":
        texts.append(_string(entry, block.get("text"), findings))
    elif kind == "thinking":
        found.thinking += _string(entry, block.get("thinking"), findings)
    elif kind == "toolCall":
        found.calls.append(read_call(entry, index, block, findings))
    elif kind == "image":
        found.images += 1
        texts.append(image_text(entry, block.get("data"), block.get("mimeType"), findings))
    else:
        findings.add(entry, fields.UNKNOWN_BLOCK, f"type {kind!r}"[:80])


def _string(entry: Place, value: Json, findings: Findings) -> str:
    if isinstance(value, str):
        return value
    findings.add(entry, fields.ODD_CONTENT, f"{type(value).__name__} for a text")
    return "" if value is None else dumps(value)


def read_call(entry: Place, index: int, block: dict[str, Json], findings: Findings) -> Call:
    """A call from its block; id and arguments are put right where they must be."""
    stated, name = block.get("id"), block.get("name")
    call_id = stated if isinstance(stated, str) and stated else f"call_line{entry.line}_{index}"
    if call_id is not stated:
        findings.add(entry, pairing.ID_MADE, f"id {stated!r} became {call_id}"[:120])
    if not isinstance(name, str) or not name:
        findings.add(entry, pairing.TOOL_UNKNOWN, f"name {name!r}"[:80])
        name = "unknown"
    arguments = block.get("arguments")
    written = block.get("partialArgs", block.get("partialJson"))
    if isinstance(written, str) and written:
        _compare(entry, name, written, arguments, findings)
    return Call(
        call_id,
        name,
        read_arguments(entry, arguments, findings),
        stated if isinstance(stated, str) and stated else None,
    )


def _compare(entry: Place, name: str, written: str, arguments: Json, findings: Findings) -> None:
    """State where the argument text that the model wrote is not what the arguments say: the agent repaired it."""
    try:
        same = _decode(written) == arguments
    except (ValueError, RecursionError):
        same = False
    if not same:
        findings.add(entry, pairing.ARGUMENTS_DIFFER, f"{name}, {len(written)} characters written"[:120])


def read_arguments(entry: Place, value: Json, findings: Findings) -> dict[str, Json]:
    """Arguments as an object; a text is parsed, anything else goes under the key `arguments`."""
    if isinstance(value, dict):
        return value
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        try:
            parsed = _decode(value)
        except (ValueError, RecursionError):
            parsed = None
        if isinstance(parsed, dict):
            return parsed
    findings.add(entry, pairing.RESHAPED, f"{type(value).__name__} for an object")
    return {"arguments": value}


def image_text(entry: Place, data: Json, mime: Json, findings: Findings) -> str:
    """What stands for an image in clean text."""
    media = mime if isinstance(mime, str) else "unknown"
    if not isinstance(data, str):
        findings.add(entry, fields.IMAGE, f"no data, {media}"[:80])
        return f"[image {media}, no data]"
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raw = data.encode()
    sha = sha256_hex(raw)
    findings.add(entry, fields.IMAGE, f"sha256 {sha}, {len(raw)} bytes, {media}"[:160])
    return f"[image {media}, {len(raw)} bytes, sha256 {sha}]"
