"""Finding logs under a path: files, folders, whole `.openclaw` trees; what is no log is named with the reason.

Never follows links to folders, opens regular files only, and goes in name order.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from assets.logs.reader import Left, Source
from assets.logs.readers import READERS
from assets.logs.readers.database import DATABASE_NAME
from assets.logs.unread import why_left
from lake.errors import SourceError

_HEAD: Final = 64 * 1024
_BESIDE_DATABASE: Final = ("-wal", "-shm", "-journal")


class Found:
    """What a walk met: sources, what was left with its reason, and what should be readable and is not."""

    def __init__(self) -> None:
        self.left: list[Left] = []
        self.broken: list[SourceError] = []

    def sources(self, path: Path) -> Iterator[Source]:
        """Sources under a path, in name order; fills `left` and `broken` on the way.

        Raises:
            SourceError: the path itself does not exist.
        """
        if not os.path.lexists(path):
            raise SourceError(f"{path} does not exist; give a log file, a folder or a .openclaw tree")
        yield from self._visit(path, given=True)

    def _visit(self, path: Path, *, given: bool) -> Iterator[Source]:
        try:
            mode = (path.stat() if given or not path.is_symlink() or path.is_file() else path.lstat()).st_mode
        except OSError as error:
            self.left.append(Left(str(path), f"cannot be followed: {error.strerror or error}"))
            return
        if stat.S_ISDIR(mode):
            yield from self._folder(path)
        elif stat.S_ISREG(mode):
            yield from self._file(path)
        elif stat.S_ISLNK(mode):
            self.left.append(Left(str(path), "link that leads to no file, not followed"))
        else:
            self.left.append(Left(str(path), "not a regular file, not opened"))

    def _folder(self, path: Path) -> Iterator[Source]:
        try:
            names = sorted(entry.name for entry in os.scandir(path))
        except OSError as error:
            self.left.append(Left(str(path), f"folder cannot be read: {error.strerror or error}"))
            return
        for name in names:
            yield from self._visit(path / name, given=False)

    def _file(self, path: Path) -> Iterator[Source]:
        if path.name.endswith(_BESIDE_DATABASE) and path.with_name(path.name.rsplit("-", 1)[0]).exists():
            return  # part of the database beside it, read with it
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD)
        except OSError as error:
            reason = f"cannot be opened: {error.strerror or error}"
            self.left.append(Left(str(path), reason))
            if path.name == DATABASE_NAME:
                self.broken.append(SourceError(f"{path} is OpenClaw's agent database and {reason}; allow reading it"))
            return
        if not head and path.name != DATABASE_NAME:
            self.left.append(Left(str(path), "empty"))
            return
        for reader in READERS:
            try:
                found = reader.sources(path, head)
            except SourceError as error:
                self.broken.append(error)
                return
            if found is not None:
                yield from found
                return
        self.left.append(Left(str(path), why_left(path, head)))
