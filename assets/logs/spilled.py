"""Records that are too long to hold: gathered in memory up to `MAX_DECODED`, above in a temporary file.

A compressed file of a few kilobytes may hold a record of many gigabytes. Belongs here: where such bytes wait until the
lake has them. Does not belong here: splitting a stream into records (`readers/streams`).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Final

from assets.logs.decode import MAX_DECODED
from lake.blobs import NewBlob

_PIECE: Final = 1 << 20


@dataclass(frozen=True)
class Spilled:
    """Bytes in a temporary file, which goes away with the last reference (in the system's folder: `TMPDIR`)."""

    size: int
    sha256: str
    _file: IO[bytes] = field(repr=False)

    def pieces(self) -> Iterator[bytes]:
        """The bytes, a part at a time."""
        at = 0
        while at < self.size and (piece := os.pread(self._file.fileno(), _PIECE, at)):
            yield piece
            at += len(piece)

    def blob(self) -> NewBlob:
        """The same for the lake, which reads it only where it is new."""
        return NewBlob(self.sha256, self.size, "application/octet-stream", lambda: b"".join(self.pieces()), self.pieces)


class Gathered:
    """A record while its pieces come in."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._file: IO[bytes] | None = None
        self._hasher = hashlib.sha256()
        self.size = 0

    def add(self, piece: bytes) -> None:
        """The next bytes of the record."""
        self.size += len(piece)
        if self._file is None:
            self._parts.append(piece)
            if self.size <= MAX_DECODED:
                return
            self._file = tempfile.TemporaryFile(prefix="clawgym-record-")  # noqa: SIM115 - closed with the last reference
            parts, self._parts = self._parts, []
        else:
            parts = [piece]
        for part in parts:
            self._hasher.update(part)
            self._file.write(part)

    def take(self) -> bytes | Spilled:
        """All of it; the next record begins."""
        size, self.size = self.size, 0
        parts, self._parts = self._parts, []
        if self._file is None:
            return parts[0] if len(parts) == 1 else b"".join(parts)
        self._file.flush()
        whole = Spilled(size, self._hasher.hexdigest(), self._file)
        self._file, self._hasher = None, hashlib.sha256()
        return whole
