"""The contract of a format: what reading gives, what writing takes, and which paths are safe.

Belongs here: plain data and the `Format` protocol. Does not belong here: any format.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from assets.tasks.bundle import TaskBundle


@dataclass(frozen=True)
class File:
    """A file of a published task."""

    data: bytes
    executable: bool = False


@dataclass(frozen=True)
class Source:
    """What is said of all tasks of one import."""

    path: Path
    collection: str
    """Name of the set; the beginning of each task_id, as published ids are only unique within theirs."""
    licence: str


@dataclass(frozen=True)
class Imported:
    """A task that was read."""

    bundle: TaskBundle
    files: Mapping[str, File]
    """Its published form, for a format of folders by path below the export; a row's under the name of its file."""
    blobs: tuple[bytes, ...] = ()
    """Contents that `bundle.extra` names by sha256 and that are neither input, verifier nor oracle."""


@dataclass(frozen=True)
class Refused:
    """A task that cannot be taken, and why, in one line."""

    source: str
    reason: str


class RefusedError(Exception):
    """Raised inside a reader: this task cannot be taken. The text says why."""


@dataclass(frozen=True)
class Stored:
    """A task as the lake has it."""

    bundle: TaskBundle
    """With `extra` as its reader left it; empty for a task that was not imported."""
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    """The contents that `extra` names, by sha256."""


class Format(Protocol):
    """One published format."""

    @property
    def name(self) -> str:
        """Its name on the command line and in `origin`."""

    @property
    def appends(self) -> bool:
        """Whether tasks of one collection share a file, one after the other."""

    def recognises(self, path: Path) -> bool:
        """Whether a folder or file looks like this format."""

    def read(self, source: Source) -> Iterator[Imported | Refused]:
        """The tasks below a path, in a fixed order. A bad task is a `Refused`, never an exception."""

    def write(self, stored: Stored) -> dict[str, File]:
        """The files of a task, by path below the export.

        Raises:
            RefusedError: this format cannot say what the task says.
        """


_SLUG = re.compile(r"[^A-Za-z0-9._-]+")


def slug(text: str) -> str:
    """A name that is safe in ids and file names; never empty."""
    return _SLUG.sub("-", text).strip("-.") or "task"


def safe_path(value: Any) -> str:
    """A relative path in normal form.

    Raises:
        RefusedError: it is no text, absolute, leaves its folder, or has a part no file system takes.
    """
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise RefusedError(f"file_path {value!r} is no path")
    if "\\" in value or value.startswith(("/", "~")) or re.match(r"^[A-Za-z]:", value):
        raise RefusedError(f"file_path {value!r} is not relative to the workspace")
    path = PurePosixPath(value)
    if ".." in path.parts or path == PurePosixPath("."):
        raise RefusedError(f"file_path {value!r} leaves the workspace")
    if any(len(part.encode("utf-8", "replace")) > 255 for part in path.parts):
        raise RefusedError(f"file_path {value[:40]!r}… has a part of more than 255 bytes")
    return path.as_posix()


def folders_holding(path: Path, name: str) -> Iterator[Path]:
    """The folder itself, or those directly below it, that hold a file of this name, in order of names."""
    if (path / name).is_file():
        yield path
        return
    for below in sorted(p for p in path.iterdir() if p.is_dir() and not p.is_symlink()):
        if (below / name).is_file():
            yield below


def read_tree(folder: Path) -> dict[str, File]:
    """Every file below a folder by relative path, sorted.

    Raises:
        RefusedError: a link or special file is in it, or a name is not UTF-8.
    """
    found: dict[str, File] = {}
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted([*folders, *names]):
            path = Path(parent, name)
            relative = path.relative_to(folder).as_posix()
            if path.is_symlink() or not (path.is_dir() or path.is_file()):
                raise RefusedError(f"{relative} is a link or special file; published tasks hold plain files only")
            if path.is_file():
                try:
                    relative.encode("utf-8")
                except UnicodeEncodeError as error:
                    raise RefusedError(f"the name {relative!r} is not UTF-8") from error
                found[relative] = File(path.read_bytes(), os.access(path, os.X_OK) and path.stat().st_mode & 0o100 != 0)
    return dict(sorted(found.items()))
