"""Where an export goes: whole or not at all, with its report, and never over anything but an earlier export.

The report of a folder lies in it (`report.json`), that of a file beside it. Belongs here: temporary names, renaming,
what may be replaced. Does not belong here: what is written.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from lake.durable import fsync
from lake.errors import UsageError
from lake.ids import Json

REPORT: Final = "report.json"


def report_path(target: Path) -> Path:
    """Where the report of an export lies."""
    return target / REPORT if target.is_dir() else target.with_name(f"{target.name}.{REPORT}")


def write(target: Path, fill: Callable[[Path], dict[str, Json]], *, force: bool) -> dict[str, Json]:
    """Let `fill` write a file or a folder under a temporary name, add the files' digests to its report, and rename.

    Args:
        target: file or folder to be.
        fill: writes to the path it is given, and returns the report.
        force: replace an earlier export.

    Returns:
        The report, as stored.

    Raises:
        UsageError: it is there and `force` is false, it is no earlier export, or it cannot be written.
    """
    _check(target, force=force)
    unique = secrets.token_hex(8)  # two exports to one place at once, or files of others, share no name
    part = target.with_name(f".{target.name}.{unique}.part")
    try:
        report = fill(part)
        report["files"] = {name: _digest(path) for name, path in _files(part, target.name).items()}
        beside = target.with_name(f"{target.name}.{REPORT}")
        if part.is_file() and beside.exists() and not _exported(beside):
            raise UsageError(f"{beside} is no report of an export, so it is not replaced; name another file")
        described = report_path(part)
        described.write_text(json.dumps(report, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        for path in (*_files(part, target.name).values(), described):
            fsync(path)
        _swap(part, described, target)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        _remove(part)
        _remove(part.with_name(f"{part.name}.{REPORT}"))
    return report


def _swap(part: Path, described: Path, target: Path) -> None:
    """Put what is written in its place; a kill in between leaves the old export, whole, under a hidden name."""
    replaced = part.with_suffix(".replaced")
    if target.is_dir():
        target.replace(replaced)
    folder = part.is_dir()
    part.replace(target)
    if not folder:
        described.replace(report_path(target))
    fsync(target.parent)
    _remove(replaced)


def _check(target: Path, *, force: bool) -> None:
    if not (target.exists() or target.is_symlink()):
        return
    if not force:
        raise UsageError(f"{target} is there already; give --force to replace it")
    if target.is_dir():
        strange = sorted(set(_files(target, target.name)) - _exported(target / REPORT) - {REPORT})
        if strange:
            raise UsageError(
                f"{target} holds {strange[0]!r}, which no export wrote, so it is not replaced; name another folder"
            )


def _exported(report: Path) -> set[str]:
    """Files an earlier export says it wrote."""
    try:
        files = json.loads(report.read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return set(files) if isinstance(files, dict) else set()


def _files(path: Path, name: str) -> dict[str, Path]:
    """Files by their path below the export, sorted; the one that is the export goes by its name to be."""
    if not path.is_dir():
        return {name: path}
    return {str(file.relative_to(path)): file for file in sorted(path.rglob("*")) if not file.is_dir()}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
