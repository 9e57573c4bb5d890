"""Stamps: what makes set-up incremental. A stamp holds the digest of what an installation depends on."""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest_of(*parts: str | Path) -> str:
    """Digest over texts and the contents of files."""
    total = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part.encode()
        total.update(hashlib.sha256(data).digest())
    return total.hexdigest()


def is_current(stamp: Path, digest: str) -> bool:
    """Whether the stamp says that this very thing is installed."""
    return stamp.is_file() and stamp.read_text().strip() == digest


def write(stamp: Path, digest: str) -> None:
    """Say that it is; the last act of an installation."""
    stamp.write_text(digest + "\n")
