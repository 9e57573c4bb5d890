"""Why a file that is no log of a known kind was left: what it is, where that can be told.

Belongs here: naming files that lie beside OpenClaw's and Harbor's logs. Does not belong here: reading logs (`readers`).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from assets.logs.decode import decode
from lake.ids import Json

UNKNOWN: Final = "not a log of a known kind"

_BY_NAME: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), reason)
    for pattern, reason in (
        (r"\.lock$", "lock file, holds no log"),
        (r"^openclaw\.json(\.|$)", "OpenClaw's configuration, no log"),
        (r"^sessions\.json\.", "state of a channel beside the index of sessions, no log"),
        (
            r"^(auth-profiles|models|credentials|device-auth|paired|pending)\.json$",
            "credentials and settings, not read",
        ),
        (r"^config-audit\.jsonl$", "history of the configuration, no log of sessions"),
        (r"^(config|lock)(\.json)?$", "settings of a Harbor job or trial, no log"),
        (r"\.(md|txt|rst|toml|yaml|yml|env|sh|py|js|mjs|ts|html|css)$", "a text, not a log"),
        (r"\.(png|jpe?g|gif|webp|pdf|ogg|mp3|wav)$", "media, not a log"),
    )
)
_SQLITE: Final = b"SQLite format 3\x00"


def why_left(path: Path, head: bytes) -> str:
    """What a file is that no reader took.

    Args:
        path: where it lies.
        head: its first bytes.
    """
    if head.startswith(_SQLITE):
        return "a database without transcripts or runs"
    found = _of_content(head)
    if found is not None:
        return found
    by_name = next((reason for pattern, reason in _BY_NAME if pattern.search(path.name)), None)
    if by_name is not None:
        return by_name
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16 text; OpenClaw writes UTF-8: convert it and try again"
    if head.lstrip()[:1] == b"[":
        return "a JSON list; logs are JSON lines or single documents: put one record on a line"
    return UNKNOWN


def _of_content(head: bytes) -> str | None:
    first = head.split(b"\n", 1)[0]
    for text in (head, first):
        value: dict[str, Json] | None = decode(text, first=True).value
        if value is None:
            continue
        if value.get("traceSchema") == "openclaw-trajectory-pointer":
            return f"pointer to a trajectory file: {value.get('runtimeFile')}; give that file too"
        if isinstance(value.get("type"), str) and value["type"].startswith("memory."):
            return "history of the agent's memory, no log of sessions"
        if value.get("event") == "config.write":
            return "history of the configuration, no log of sessions"
        if "n_total_trials" in value:
            return "summary of a Harbor job; its trials are taken one by one"
        if isinstance(value.get("jobs"), list) and "version" in value:
            return "schedule of jobs, no log; their runs are in cron/runs"
        return None
    return None
