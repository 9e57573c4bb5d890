"""Front matter of SKILL.md, in the sound and the broken forms found in the wild.

Belongs here: finding the block, reading it as YAML, and line by line where it is no YAML. Gives what it mended as
flags. Does not belong here: what the keys mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import yaml

_FENCE: Final = re.compile(r"^[ \t]*(-{3,}|\+{3,})[ \t]*$")
_KEY: Final = re.compile(r"^([A-Za-z][\w.-]*)[ \t]*:[ \t]*(.*)$")
_SCAN: Final = 120
"""Lines in which the closing fence is looked for."""


@dataclass(frozen=True)
class FrontMatter:
    """What was found before the body."""

    meta: dict[str, Any]
    body: str
    flags: tuple[str, ...]


def read_front_matter(text: str) -> FrontMatter:
    """Split a SKILL.md into front matter and body; never raises.

    Flags: `front_matter_missing`, `front_matter_unclosed`, `front_matter_repaired` (no YAML; keys were taken line by
    line), `front_matter_not_mapping`.
    """
    lines = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    start = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    if start == len(lines) or not _FENCE.match(lines[start]):
        return FrontMatter({}, "\n".join(lines), ("front_matter_missing",))
    for end in range(start + 1, min(len(lines), start + _SCAN)):
        if _FENCE.match(lines[end]):
            meta, flags = _parse(lines[start + 1 : end])
            return FrontMatter(meta, "\n".join(lines[end + 1 :]), flags)
    end = start + 1
    while end < len(lines) and _KEY.match(lines[end]):
        end += 1
    meta, flags = _parse(lines[start + 1 : end])
    return FrontMatter(meta, "\n".join(lines[end:]), ("front_matter_unclosed", *flags))


def _parse(lines: list[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    try:
        value = yaml.safe_load("\n".join(lines))
    except (yaml.YAMLError, ValueError, RecursionError):
        return _by_line(lines), ("front_matter_repaired",)
    if value is None:
        return {}, ()
    if not isinstance(value, dict):
        return _by_line(lines), ("front_matter_not_mapping",)
    return {str(key): item for key, item in value.items()}, ()


def _by_line(lines: list[str]) -> dict[str, Any]:
    """`key: rest of the line`, first one wins; what is indented belongs to the key above and is joined by spaces."""
    found: dict[str, str] = {}
    current: str | None = None
    for line in lines:
        match = _KEY.match(line)
        if match and match[1] not in found:
            current = match[1]
            found[current] = match[2].strip().strip("\"'")
        elif current is not None and line[:1] in (" ", "\t"):
            found[current] = f"{found[current]} {line.strip()}".strip()
        else:
            current = None
    return dict(found)
