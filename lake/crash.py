"""Named crash points: where tests kill the process, to prove that nothing is lost and nothing done twice.

`CLAWGYM_CRASH_AT=commit.after_write` (or `name:3`, the third time it is passed) kills this process with SIGKILL there.
Does not belong here: any handling; a crash point does nothing else.
"""

from __future__ import annotations

import os
import signal
from typing import Final

POINTS: Final = (
    "spool.after_event",
    "spool.after_blob",
    "spool.before_seal",
    "spool.after_seal",
    "commit.before_blobs",
    "commit.after_blobs",
    "commit.after_write",
    "commit.after_mark",
    "ingest.after_batch",
    "ingest.before_event",
    "groups.after_mark",
    "build.before_write",
    "build.after_write",
    "rollout.after_plan",
    "rollout.after_run",
    "rollout.after_harvest",
)
"""Every crash point there is; a test kills the process once at each."""

_passed: dict[str, int] = {}


def point(name: str) -> None:
    """Die here when `CLAWGYM_CRASH_AT` says so.

    Raises:
        ValueError: `name` is not in `POINTS`.
    """
    if name not in POINTS:
        raise ValueError(f"unknown crash point {name!r}; add it to lake/crash.py")
    wanted = os.environ.get("CLAWGYM_CRASH_AT")
    if wanted is None:
        return
    target, _, count = wanted.partition(":")
    if target == name:
        _passed[name] = _passed.get(name, 0) + 1
        if _passed[name] >= int(count or 1):
            os.kill(os.getpid(), signal.SIGKILL)
