"""What code and which libraries a training run used.

Belongs here: facts about the running program. Does not belong here: facts about the data.
"""

from __future__ import annotations

import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def code_commit() -> str | None:
    """Git commit of the code, None outside a repository."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def library_versions() -> dict[str, str]:
    """Versions of what the weights depend on."""
    return {name: version(name) for name in ("torch", "transformers", "trl", "tokenizers")}
