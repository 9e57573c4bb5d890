"""Keys that an object of a record states twice: JSON readers take the last one and say nothing.

A record is looked at again only when it has other colons than its value written anew, or an escaped one.
Does not belong here: reading records (`assets.logs.decode`).
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Final

import msgspec

from assets.logs.decode import Decoded
from lake.ids import Json

_encode_into: Final = msgspec.json.Encoder().encode_into
_ESCAPED: Final = b"\\u003"
"""Of a colon, `\\u003a`, which is written anew as it is."""
_BOM: Final = b"\xef\xbb\xbf"


def repeated_keys(raw: bytes, decoded: Decoded, anew: bytearray) -> list[str]:
    """Keys stated twice in one object, sorted; none where the record is nested deeper than is kept.

    Args:
        raw: the record.
        decoded: what was read of it.
        anew: scratch space of the caller, used again from record to record.
    """
    if "deep_nesting" in decoded.notes:
        return []
    try:
        _encode_into(decoded.value, anew)
        if raw.count(b":") == anew.count(b":") and _ESCAPED not in raw:
            return []
    except (TypeError, ValueError, OverflowError):
        pass  # integers that this encoder cannot write
    repeated: set[str] = set()

    def pairs(found: list[tuple[str, Json]]) -> None:
        keys = [key for key, _ in found]
        if len(set(keys)) < len(keys):
            repeated.update(key for key in keys if keys.count(key) > 1)

    with suppress(ValueError, RecursionError):  # an integer of more digits than this parser takes
        json.loads(raw.removeprefix(_BOM).decode("utf-8", "replace"), object_pairs_hook=pairs)
    return sorted(repeated)
