"""The contract of a reader: a file or database in, sources out, each a stream of records.

A source is one log of one thing (a session's transcript, an attempt's model calls). Its *stream* is its bytes: those of
the file after decompression, or for a database the rows' texts with a newline behind each. Versions and growth are
decided on that stream. Implementations live in `readers/`; nothing here knows a format.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Protocol

HEAD_BYTES: Final = 64 * 1024
"""How much of a file a reader is shown; a shorter head is the whole file. Bytes."""


class Line(NamedTuple):
    """One record as it lies in its source, not parsed."""

    position: int
    """Byte offset in the stream, or row sequence in a database; the record's key inside its version."""
    raw: bytes
    """The record without its line end."""
    terminated: bool
    """Whether a newline follows in the stream."""
    encoding: str = "identity"
    """How the source stored it: identity | zstd."""
    stored: bytes | None = None
    """The stored bytes when the encoding is not identity."""
    problem: str | None = None
    """A parse status set by the reader (bad_zstd), which then wins over parsing."""

    @property
    def size(self) -> int:
        """Length in the stream, line end included."""
        return len(self.raw) + self.terminated


class Source(Protocol):
    """One source of records."""

    @property
    def kind(self) -> str:
        """Source kind: openclaw.transcript, openclaw.jsonl, proxy.call …"""

    @property
    def path(self) -> str:
        """Where it was read from."""

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
