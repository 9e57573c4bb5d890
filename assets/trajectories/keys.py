"""Keys that an object of a record states twice: JSON readers take the last one and say nothing.

A record is looked at again only when it has more colons than its value written anew, which costs next to nothing.
Does not belong here: reading records (`assets.logs.decode`).
"""

from __future__ import annotations

import json
from typing import Final

import msgspec

from assets.logs.decode import Decoded
from lake.ids import Json

_encode: Final = msgspec.json.Encoder().encode
_BOM: Final = b"\xef\xbb\xbf"


def repeated_keys(raw: bytes, decoded: Decoded) -> list[str]:
    """Keys stated twice in one object, sorted; none where the record is nested deeper than is kept.

    Args:
        raw: the record.
        decoded: what was read of it.
    """
    if "deep_nesting" in decoded.notes:
        return []
    try:
        if raw.count(b":") == _encode(decoded.value).count(b":"):
            return []
    except (TypeError, ValueError, OverflowError):
        pass  # integers that this encoder cannot write
    repeated: set[str] = set()

    def pairs(found: list[tuple[str, Json]]) -> None:
        keys = [key for key, _ in found]
        if len(set(keys)) < len(keys):
            repeated.update(key for key in keys if keys.count(key) > 1)

    json.loads(raw.removeprefix(_BOM).decode("utf-8", "replace"), object_pairs_hook=pairs)
    return sorted(repeated)
