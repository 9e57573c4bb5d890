"""Times as agents' logs state them: ISO texts of several forms, epoch seconds and milliseconds, digits in a string.

Belongs here: reading one value as a UTC time. Does not belong here: deciding what to do when a time is missing.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from lake.ids import Json

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS = re.compile(r"-?\d+(\.\d+)?")
_SECONDS_BELOW = 1e11
"""A number below is seconds, from it on milliseconds (1e11 s is the year 5138)."""


def parse_time(value: Json) -> datetime | None:
    """The UTC time a value states, or None when it states none.

    A text without zone is taken as UTC. Numbers below 1e11 are seconds, others milliseconds.
    """
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _from_number(value)
    return None


def _from_text(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        text = text.strip()
        return _from_number(float(text)) if _DIGITS.fullmatch(text) else None
    if found.tzinfo is None:
        return found.replace(tzinfo=UTC) if not text.isdigit() else _from_number(float(text))
    try:
        return found.astimezone(UTC)
    except OverflowError:
        return None


def _from_number(value: float) -> datetime | None:
    try:
        return _EPOCH + (timedelta(seconds=value) if abs(value) < _SECONDS_BELOW else timedelta(milliseconds=value))
    except (OverflowError, ValueError):
        return None
