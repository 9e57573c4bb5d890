"""The contract of a reader: a file or database in, sources out, each a stream of records.

A source is one log of one thing (a session's transcript, an attempt's model calls). Its *stream* is its bytes: those of
the file after decompression, or for a database the rows' texts with a newline behind each. Versions and growth are
decided on that stream. Implementations live in `readers/`; nothing here knows a format.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from assets.logs.spilled import Spilled
from assets.sandbox.folder import path_text

HEAD_BYTES: Final = 64 * 1024
"""How much of a file a reader is shown; a shorter head is the whole file. Bytes."""


def text_of(path: str | Path) -> str:
    """A path as it is stated everywhere: UTF-8, any other byte as \\xNN and a backslash doubled, as in manifests."""
    text = str(path)
    return text if text.isascii() and "\\" not in text else path_text(os.fsencode(text))


def shown(text: str) -> str:
    """Text for a terminal: on one line, and what would steer the terminal or cannot be written as an escape."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    byte = ord(character) - 0xDC00  # of a name that is not UTF-8, as Python holds it
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else character.encode("unicode_escape").decode()


class Line(NamedTuple):
    """One record as it lies in its source, not parsed."""

    position: int
    """Byte offset in the stream, or row sequence in a database; the record's key inside its version."""
    raw: bytes
    """The record without its line end; empty where it is spilled."""
    terminated: bool
    """Whether a newline follows in the stream."""
    encoding: str = "identity"
    """How the source stored it: identity | zstd."""
    stored: bytes | None = None
    """The stored bytes when the encoding is not identity."""
    problem: str | None = None
    """A parse status set by the reader (bad_zstd, oversized), which then wins over parsing."""
    spilled: Spilled | None = None
    """The record, where it is too long to hold."""

    @property
    def size(self) -> int:
        """Length in the stream, line end included."""
        return (len(self.raw) if self.spilled is None else self.spilled.size) + self.terminated

    def pieces(self) -> Iterator[bytes]:
        """Its bytes in the stream, line end included, a part at a time."""
        yield from (self.raw,) if self.spilled is None else self.spilled.pieces()
        if self.terminated:
            yield b"\n"


class Source(Protocol):
    """One source of records."""

    @property
    def kind(self) -> str:
        """Source kind: openclaw.transcript, openclaw.jsonl, proxy.call …"""

    @property
    def path(self) -> str:
        """Where it was read from, as `text_of` states it."""

    @property
    def session_id(self) -> str | None:
        """The agent's session id, where known."""

    @property
    def identity(self) -> str:
        """Session identity: the session id, else what names the source among others of its kind."""

    def lines(self, offset: int = 0, end: int | None = None) -> Iterator[Line]:
        """Records from a stream offset on, up to the offset `end` where given.

        An offset inside a record gives the rest of that record first, at its own position.
        """


@dataclass(frozen=True)
class Left:
    """Something found under a path and not taken, with the reason."""

    path: str
    reason: str


class Reader(Protocol):
    """Recognises a file by its content and gives its sources."""

    @property
    def name(self) -> str:
        """Module name below `readers/`."""

    def sources(self, path: Path, head: bytes) -> list[Source] | None:
        """The sources in the file, or None when it is not of this reader's format.

        Args:
            path: an existing regular file.
            head: its first `HEAD_BYTES`, as stored.

        Raises:
            SourceError: it is of this format but cannot be read.
        """
