"""Files as streams of lines: plain, gzip and zstd, split on the newline byte only, memory bounded whatever is in them.

Belongs here: bytes and offsets. Does not belong here: what is in a line.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import zstandard

from assets.logs.reader import Line, text_of
from assets.logs.spilled import Gathered, Spilled

_CHUNK: Final = 1 << 20
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True)
class FileSource:
    """A file whose lines are records."""

    kind: str
    file: str
    """What is opened; `path` states it."""
    session_id: str | None
    identity: str

    @property
    def path(self) -> str:
        """See `Source.path`."""
        return text_of(self.file)

    def lines(self, offset: int = 0, end: int | None = None) -> Iterator[Line]:
        """See `Source.lines`."""
        return split(file_chunks(Path(self.file), offset, end), offset)


@dataclass(frozen=True)
class WholeFile:
    """A file that is one record."""

    kind: str
    file: str
    """What is opened; `path` states it."""
    session_id: str | None
    identity: str

    @property
    def path(self) -> str:
        """See `Source.path`."""
        return text_of(self.file)

    def lines(self, offset: int = 0, end: int | None = None) -> Iterator[Line]:
        """See `Source.lines`."""
        whole = Gathered()
        for chunk in file_chunks(Path(self.file), offset, end):
            whole.add(chunk)
        if whole.size:
            yield _line(offset, whole, terminated=False)


@dataclass(frozen=True)
class BytesSource:
    """A log that lies inside something else, such as an archive kept in a database row."""

    kind: str
    path: str
    session_id: str | None
    identity: str
    data: bytes

    def lines(self, offset: int = 0, end: int | None = None) -> Iterator[Line]:
        """See `Source.lines`."""
        return split(iter([self.data[offset:end]]), offset)


def file_chunks(path: Path, offset: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Decompressed bytes of a file between two offsets; a cut compressed stream gives what it still holds."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic[:2] == _GZIP or magic == _ZSTD:
        at = 0
        for chunk in _gunzip(path) if magic[:2] == _GZIP else _unzstd(path):
            piece = chunk[max(0, offset - at) : None if end is None else max(0, end - at)]
            at += len(chunk)
            if piece:
                yield piece
            if end is not None and at >= end:
                return
        return
    with path.open("rb") as file:
        file.seek(offset)
        left = None if end is None else end - offset
        while left is None or left > 0:
            chunk = file.read(_CHUNK if left is None else min(_CHUNK, left))
            if not chunk:
                return
            left = None if left is None else left - len(chunk)
            yield chunk


def _gunzip(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        engine = zlib.decompressobj(wbits=31)
        while chunk := file.read(_CHUNK):
            while chunk:
                try:
                    piece = engine.decompress(chunk, _CHUNK)
                except zlib.error:
                    return
                if piece:
                    yield piece
                if engine.eof:
                    chunk = engine.unused_data
                    engine = zlib.decompressobj(wbits=31)
                else:
                    chunk = engine.unconsumed_tail
        rest = engine.flush()
        if rest:
            yield rest


def _unzstd(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as stream:
        while True:
            try:
                piece = stream.read(_CHUNK)
            except zstandard.ZstdError:
                return
            if not piece:
                return
            yield piece


def split(chunks: Iterator[bytes], offset: int) -> Iterator[Line]:
    """Lines of a byte stream that starts at `offset`; the newline byte alone ends a line."""
    record = Gathered()
    position = offset
    for chunk in chunks:
        pieces = chunk.split(b"\n")
        record.add(pieces[0])
        if len(pieces) == 1:
            continue
        size = record.size
        yield _line(position, record, terminated=True)
        position += size + 1
        for line in pieces[1:-1]:
            yield Line(position, line, True)
            position += len(line) + 1
        record.add(pieces[-1])
    if record.size:
        yield _line(position, record, terminated=False)


def _line(position: int, record: Gathered, *, terminated: bool) -> Line:
    found = record.take()
    if isinstance(found, Spilled):
        return Line(position, b"", terminated, problem="oversized", spilled=found)
    return Line(position, found, terminated)
