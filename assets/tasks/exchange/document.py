"""A JSON document as a skeleton: the text of instruction and files taken out, put back byte for byte.

Belongs here: taking out, putting back, and the styles JSON is written in. A document that none of the styles gives back
exactly has no skeleton; its bytes are kept instead. Does not belong here: what the document says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from lake.ids import dumps

_REFERENCE: Final = "$of"
_SHORT: Final = 32
"""Shorter texts stay where they are: a reference would be no shorter, and chance equals are many."""

STYLES: Final[dict[str, dict[str, Any]]] = {
    "indent-2": {"indent": 2, "ensure_ascii": False},
    "indent-2-ascii": {"indent": 2},
    "indent-4": {"indent": 4, "ensure_ascii": False},
    "line": {"ensure_ascii": False},
    "line-ascii": {},
    "compact": {"separators": (",", ":"), "ensure_ascii": False},
    "compact-ascii": {"separators": (",", ":")},
}
"""Arguments of `json.dumps`, the usual ones first."""


def skeleton_of(raw: bytes, value: Any, texts: Mapping[str, str]) -> dict[str, str] | None:
    """How to write the document again, or null where that would not give the same bytes.

    Args:
        raw: the document.
        value: what it parses to.
        texts: by name, the texts that are kept elsewhere.
    """
    if _holds_reference(value):
        return None
    text = raw.decode("utf-8", "replace")
    body = text.rstrip("\r\n")
    for style, arguments in STYLES.items():
        try:
            same = json.dumps(value, **arguments) == body
        except ValueError:
            return None
        if same:
            names = {content: name for name, content in reversed(list(texts.items())) if len(content) >= _SHORT}
            return {"style": style, "end": text[len(body) :], "document": dumps(_taken_out(value, names))}
    return None


def rebuilt(skeleton: Mapping[str, str], texts: Mapping[str, str]) -> bytes:
    """The document's bytes."""
    value = _put_back(json.loads(skeleton["document"]), texts)
    return (json.dumps(value, **STYLES[skeleton["style"]]) + skeleton["end"]).encode("utf-8")


def pretty(value: Any) -> bytes:
    """A document of our own, in the style the published ones have."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _holds_reference(value: Any) -> bool:
    if isinstance(value, dict):
        return _REFERENCE in value or any(map(_holds_reference, value.values()))
    return isinstance(value, list) and any(map(_holds_reference, value))


def _taken_out(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str) and value in names:
        return {_REFERENCE: names[value]}
    if isinstance(value, dict):
        return {key: _taken_out(inner, names) for key, inner in value.items()}
    return [_taken_out(inner, names) for inner in value] if isinstance(value, list) else value


def _put_back(value: Any, texts: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        if set(value) == {_REFERENCE}:
            return texts[value[_REFERENCE]]
        return {key: _put_back(inner, texts) for key, inner in value.items()}
    return [_put_back(inner, texts) for inner in value] if isinstance(value, list) else value
