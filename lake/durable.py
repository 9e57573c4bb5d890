"""Durability of files: the one place that talks to fsync.

Does not belong here: anything about what the files hold.
"""

from __future__ import annotations

import os
from pathlib import Path


def fsync(path: Path) -> None:
    """Make a file's bytes, or a folder's entries, durable."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
