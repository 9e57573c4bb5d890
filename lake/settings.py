"""Where the lake is. `CLAWGYM_LAKE` or `./data/lake`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

LAKE_FORMAT: Final = 1
"""Version of the layout below the lake root; a later reader opens every earlier one."""

MAX_PAYLOAD: Final = 64 * 1024
"""Largest event payload inline; larger ones become blobs. Bytes."""

MAX_INLINE: Final = 1024 * 1024
"""Largest blob or raw record inline in a Delta row; larger ones become objects or blobs. Bytes."""


def lake_root(path: str | Path | None = None) -> Path:
    """The lake's root: the argument, else `CLAWGYM_LAKE`, else `./data/lake`."""
    return Path(path or os.environ.get("CLAWGYM_LAKE") or "data/lake").expanduser().absolute()
