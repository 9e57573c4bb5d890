"""A folder as data: put files into one, freeze what is in it, put that back.

Belongs here: materialise, snapshot, restore and the identity of a workspace. Links are never followed, in neither
direction. Does not belong here: what is run in a folder, what a file's content means, storing contents.

A path is text: UTF-8, `/` between parts, with a backslash and bytes that are not UTF-8 written as `\\\\` and `\\xNN`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lake.errors import UsageError
from lake.ids import digest, sha256_hex

FileKind = Literal["file", "dir", "symlink", "other"]

MAX_ENTRIES = 20_000
"""Entries a snapshot records; more are left out and `truncated` says so."""


@dataclass(frozen=True)
class FileEntry:
    """One entry of a frozen folder. Folders are listed only when empty: the others follow from their files."""

    path: str
    kind: FileKind
    sha256: str | None
    """Of the content; of the target's text for a link; null for what has no content or was left out."""
    size: int
    """Bytes."""
    mode: int
    """Permission bits."""
    data: bytes | None
    note: str | None = None
    """Why the content was left out, or what a special file is."""


@dataclass(frozen=True)
class Snapshot:
    """A frozen folder, entries sorted by path."""

    files: list[FileEntry]
    workspace_id: str
    truncated: bool
    """Whether a limit left contents or entries out."""


def workspace_id_of(files: Mapping[str, bytes] | Iterable[FileEntry]) -> str:
    """Identity of a workspace: a digest over (path, kind, content, size of what was left out, mode), 20 hex digits.

    The id of a mapping is that of the snapshot taken after `materialise` of the same mapping.
    """
    entries = entries_of(files) if isinstance(files, Mapping) else files
    return digest(
        [
            [e.path, e.kind, e.sha256, None if e.sha256 else e.size, e.mode]
            for e in sorted(entries, key=lambda e: e.path)
        ]
    )


def entries_of(files: Mapping[str, bytes]) -> list[FileEntry]:
    """Plain files as entries, sorted by path, with the mode `materialise` gives them."""
    return [
        FileEntry(path, "file", sha256_hex(data), len(data), 0o644, data)
        for path, data in sorted((_normal(path), data) for path, data in files.items())
    ]


def materialise(files: Mapping[str, bytes], target: Path) -> None:
    """Write plain files (mode 0644) below `target`, which is made when missing.

    Raises:
        UsageError: a path is absolute, leaves the folder, or runs through a file or link.
    """
    restore(entries_of(files), target, _own_data)


def restore(entries: Iterable[FileEntry], target: Path, content: Callable[[FileEntry], bytes] | None = None) -> None:
    """Rebuild a frozen folder below `target`: folders and files first, links last, so nothing is written through one.

    Special files and files whose content was left out are not rebuilt. Set-id bits are dropped.

    Args:
        content: gives the bytes of an entry that has a sha256; its `data` when left out.

    Raises:
        UsageError: as `materialise`.
    """
    if not target.exists():
        target.mkdir(parents=True)
        target.chmod(0o755)
    for entry in sorted(entries, key=lambda entry: (entry.kind == "symlink", entry.path)):
        path = os.path.join(os.fsencode(target), path_bytes(entry.path))  # noqa: PTH118 - odd bytes
        if entry.kind == "dir":
            _folder(path, target)
            os.chmod(path, (entry.mode & 0o777) | 0o700)  # noqa: PTH101
        elif entry.kind in ("file", "symlink") and entry.sha256 is not None:
            _folder(os.path.dirname(path), target)  # noqa: PTH120
            data = (content or _own_data)(entry)
            try:
                _write(path, entry, data)
            except OSError as error:
                raise UsageError(f"cannot write {entry.path!r} below {target}: {error.strerror}") from error


def copy_folder(source: Path, target: Path) -> None:
    """Copy a frozen folder to `target`, which must not be there; links as links, special files left out.

    Raises:
        OSError: something cannot be read or written.
    """
    target.mkdir()
    target.chmod(0o755)
    root = os.fsencode(source)
    for relative, status in _walk(root):
        here, there = os.path.join(root, relative), os.path.join(os.fsencode(target), relative)  # noqa: PTH118
        mode = stat.S_IMODE(status.st_mode) & 0o777
        if stat.S_ISDIR(status.st_mode):
            _folder(there, target)
        elif stat.S_ISLNK(status.st_mode):
            _folder(os.path.dirname(there), target)  # noqa: PTH120
            os.symlink(os.readlink(here), there)  # noqa: PTH115, PTH211
        elif stat.S_ISREG(status.st_mode):
            _folder(os.path.dirname(there), target)  # noqa: PTH120
            shutil.copyfile(here, there, follow_symlinks=False)
            os.chmod(there, mode)  # noqa: PTH101


def snapshot(folder: Path, *, limit_bytes: int) -> Snapshot:
    """Freeze a folder. Nothing may be running in it.

    Args:
        limit_bytes: sum of the contents kept; a file that would pass it is recorded without content.
    """
    entries: list[FileEntry] = []
    truncated, room = False, limit_bytes
    for relative, status in _walk(os.fsencode(folder)):
        if len(entries) >= MAX_ENTRIES:
            truncated = True
            break
        entry = _entry(os.path.join(os.fsencode(folder), relative), path_text(relative), status, room)  # noqa: PTH118
        room -= entry.size if entry.data is not None else 0
        truncated |= entry.kind == "file" and entry.data is None
        entries.append(entry)
    entries.sort(key=lambda entry: entry.path)
    return Snapshot(entries, workspace_id_of(entries), truncated)


def remove_folder(folder: Path) -> None:
    """Remove a folder whatever modes its content has; silent about what cannot be removed."""

    def unlock(function: Callable[..., object], path: str, _error: object) -> None:
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(path), 0o700)  # noqa: PTH101, PTH120
            if not os.path.islink(path):  # noqa: PTH114
                os.chmod(path, 0o700)  # noqa: PTH101
            function(path)

    shutil.rmtree(folder, onerror=unlock)
    shutil.rmtree(folder, ignore_errors=True)


def path_text(path: bytes) -> str:
    """A path as text (see the module)."""
    return path.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def path_bytes(text: str) -> bytes:
    """Back from `path_text`.

    Raises:
        UsageError: absolute, empty, with a `..` part, a NUL, or a backslash that is no escape.
    """
    data = re.sub(
        rb"\\(?:\\|x([0-9a-f]{2}))",
        lambda match: bytes([int(match[1], 16)]) if match[1] else b"\\",
        text.encode("utf-8", "surrogateescape"),
    )
    if path_text(data) != text:
        raise UsageError(f"path {text!r} has a backslash that is no escape; write it as \\\\")
    parts = data.split(b"/")
    if b"\0" in data or b"" in parts or b".." in parts or b"." in parts:
        raise UsageError(f"path {text!r} is not a plain path inside a workspace (absolute, empty or dotted part)")
    return data


def _normal(path: str) -> str:
    """Without leading `./` and doubled slashes, which imported tasks have."""
    return re.sub(r"/+", "/", re.sub(r"^(\./+)+", "", path)) if not path.startswith("/") else path


def _own_data(entry: FileEntry) -> bytes:
    if entry.data is None:
        raise UsageError(f"no content at hand for {entry.path!r}; give `restore` a `content` function")
    return entry.data


def _folder(path: bytes, target: Path) -> None:
    """Make folders below target one by one, refusing to pass through anything that is no real folder."""
    current = os.fsencode(target)
    for part in os.path.relpath(path, current).split(b"/"):
        if part == b".":
            continue
        current = os.path.join(current, part)  # noqa: PTH118
        try:
            os.mkdir(current)  # noqa: PTH102
            os.chmod(current, 0o755)  # noqa: PTH101
        except FileExistsError as error:
            if not stat.S_ISDIR(os.lstat(current).st_mode):
                raise UsageError(
                    f"{os.fsdecode(current)!r} is in the way: it is a file or link, not a folder"
                ) from error


def _write(path: bytes, entry: FileEntry, data: bytes) -> None:
    if entry.kind == "symlink":
        os.symlink(data, path)  # noqa: PTH211
        return
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        os.fchmod(fd, entry.mode & 0o777)


def _walk(root: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
    """Relative path and status of every entry but folders with content, in byte order, without following links."""
    waiting = [b""]
    while waiting:
        relative = waiting.pop()
        try:
            names = sorted(os.listdir(os.path.join(root, relative)), reverse=True)  # noqa: PTH118, PTH208
        except OSError:  # unreadable: recorded as an empty folder
            names = []
        if not names and relative:
            yield relative, os.lstat(os.path.join(root, relative))  # noqa: PTH118
        for name in names:
            below = os.path.join(relative, name) if relative else name  # noqa: PTH118
            status = os.lstat(os.path.join(root, below))  # noqa: PTH118
            if stat.S_ISDIR(status.st_mode):
                waiting.append(below)
            else:
                yield below, status


def _entry(path: bytes, text: str, status: os.stat_result, room: int) -> FileEntry:
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return FileEntry(text, "dir", None, 0, mode, None)
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(path)  # noqa: PTH115
        return FileEntry(text, "symlink", sha256_hex(target), len(target), 0o777, target)
    if not stat.S_ISREG(status.st_mode):
        return FileEntry(text, "other", None, 0, mode, None, "special file (pipe, socket or device), not read")
    if status.st_size > room:
        return FileEntry(text, "file", None, status.st_size, mode, None, "over the size limit, content left out")
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            data = file.read(room + 1)
    except OSError as error:
        return FileEntry(text, "file", None, status.st_size, mode, None, f"cannot be read: {error.strerror}")
    if len(data) > room:
        return FileEntry(text, "file", None, len(data), mode, None, "over the size limit, content left out")
    return FileEntry(text, "file", sha256_hex(data), len(data), mode, data)
