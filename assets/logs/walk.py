"""Finding logs under a path: files, folders, whole `.openclaw` trees; what is no log is named with the reason.

Never follows links to folders, opens regular files only, and goes in name order.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from assets.logs.reader import HEAD_BYTES, Left, Source, shown, text_of
from assets.logs.readers import READERS
from assets.logs.readers.database import DATABASE_NAME, MAGIC
from assets.logs.unread import why_left
from lake.errors import SourceError

_BESIDE_DATABASE: Final = ("-wal", "-shm", "-journal")

IsIn = Callable[[str, io.FileIO], bool]
"""Whether the file at a path holds what was taken from there before, so that nobody need look into it."""


class Found:
    """What a walk met: sources, what was left with its reason, and what should be readable and is not."""

    def __init__(self, is_in: IsIn = lambda path, file: False) -> None:
        self.left: list[Left] = []
        self.broken: list[SourceError] = []
        self._content: tuple[str, bytes] | None = None
        self._is_in = is_in

    def sources(self, path: Path) -> Iterator[Source]:
        """Sources under a path, in name order, but those that are in; fills `left` and `broken` on the way.

        Raises:
            SourceError: the path itself does not exist.
        """
        if not os.path.lexists(path):
            raise SourceError(f"{shown(text_of(path))} does not exist; give a log file, a folder or a .openclaw tree")
        try:
            mode = path.stat().st_mode
        except OSError as error:
            self._leave(path, f"cannot be followed: {error.strerror or error}")
            return
        if stat.S_ISDIR(mode):
            yield from self._folder(str(path))
        elif stat.S_ISREG(mode):
            yield from self._file(path.name, str(path))
        else:
            self._leave(path, "not a regular file, not opened")

    def content(self, source: Source) -> bytes | None:
        """All bytes of the file of the source that came last, where they are few."""
        return self._content[1] if self._content is not None and self._content[0] == source.path else None

    def _leave(self, path: str | Path, reason: str) -> None:
        self.left.append(Left(text_of(path), reason))

    def _folder(self, path: str) -> Iterator[Source]:
        try:
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            self._leave(path, f"folder cannot be read: {error.strerror or error}")
            return
        for entry in entries:
            yield from self._entry(entry)

    def _entry(self, entry: os.DirEntry[str]) -> Iterator[Source]:
        try:
            if entry.is_dir(follow_symlinks=False):
                yield from self._folder(entry.path)
            elif entry.is_file():
                yield from self._file(entry.name, entry.path)
            elif entry.is_symlink():
                self._leave(entry.path, "link that leads to no file, not followed")
            else:
                self._leave(entry.path, "not a regular file, not opened")
        except OSError as error:
            self._leave(entry.path, f"cannot be followed: {error.strerror or error}")

    def _file(self, name: str, at: str) -> Iterator[Source]:
        if name.endswith(_BESIDE_DATABASE) and _is_database(at.rpartition("-")[0]):
            return  # part of the database beside it, read with it
        try:
            with io.FileIO(at) as file:
                if self._is_in(text_of(at), file):
                    return
                file.seek(0)
                head = _head(file)
        except OSError as error:
            reason = f"cannot be opened: {error.strerror or error}"
            self._leave(at, reason)
            if name == DATABASE_NAME:
                self.broken.append(
                    SourceError(f"{text_of(at)} is OpenClaw's agent database and {reason}; allow reading it")
                )
            return
        if not head and name != DATABASE_NAME:
            self._leave(at, "empty")
            return
        self._content = (text_of(at), head) if len(head) < HEAD_BYTES else None
        path = Path(at)
        for reader in READERS:
            try:
                found = reader.sources(path, head)
            except SourceError as error:
                self.broken.append(error)
                return
            if found is not None:
                yield from found
                return
        self._leave(at, why_left(path, head))


def _is_database(at: str) -> bool:
    """Whether a database lies there, by its first bytes."""
    try:
        if not stat.S_ISREG(os.stat(at).st_mode):  # noqa: PTH116
            return False
        with io.FileIO(at) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _head(file: io.FileIO) -> bytes:
    """The first `HEAD_BYTES` of a file; fewer only when it has no more."""
    head = b""
    while len(head) < HEAD_BYTES and (piece := file.read(HEAD_BYTES - len(head))):
        head += piece
    return head
