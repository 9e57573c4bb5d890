"""Checkpoint folders: written aside, made durable, then renamed, so a folder that exists is whole.

Belongs here: publishing a folder and looking at one cheaply. Does not belong here: what goes into it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from lake.errors import StageError
from lake.ids import sha256_hex


def publish(target: Path, fill: Callable[[Path], None]) -> None:
    """Let `fill` write into a folder beside `target`, sync it, and rename it to `target`.

    What an interrupted run left behind is removed first. A `target` that exists already is left as it is.
    """
    if target.exists():
        return
    aside = target.with_name(target.name + ".partial")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    fill(aside)
    for path in sorted(aside.rglob("*")):
        if path.is_file():
            _sync(path)
    _sync(aside)
    aside.rename(target)
    _sync(target.parent)


def folder_problem(folder: Path) -> str | None:
    """Why the folder is not a loadable checkpoint, or None. Reads headers only, no weights."""
    if not folder.is_dir():
        return f"{folder} is not there"
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        if not (folder / name).is_file():
            return f"{folder} holds no {name}"
    try:
        config = json.loads((folder / "config.json").read_text())
    except ValueError as error:
        return f"{folder}/config.json is not JSON: {error}"
    if not config.get("architectures"):
        return f"{folder}/config.json names no architecture"
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        return f"{folder} holds no .safetensors file"
    return next((problem for path in weights if (problem := _safetensors_problem(path))), None)


def folder_sha256(folder: Path) -> str:
    """Digest of the names and contents of a folder's files (hex); streams, so weights of any size are fine."""
    import hashlib

    lines = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        with path.open("rb") as file:
            lines.append(f"{path.relative_to(folder).as_posix()} {hashlib.file_digest(file, 'sha256').hexdigest()}\n")
    if not lines:
        raise StageError(f"{folder} holds no files; name a transformers checkpoint folder")
    return sha256_hex("".join(lines))


def _safetensors_problem(path: Path) -> str | None:
    """The header says where the last tensor ends; a cut file is shorter."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 0 < length <= path.stat().st_size - 8:
            return f"{path} is cut or no safetensors file"
        header = json.loads(file.read(length))
    end = max((entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"), default=0)
    if 8 + length + end != path.stat().st_size:
        return f"{path} has {path.stat().st_size} bytes, its header says {8 + length + end}"
    return None


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
