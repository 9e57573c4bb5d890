"""A chat message in the form in which transcript and request are compared.

Leaves out what differs by design: decorations around a user's words, rewritten call ids, how content is wrapped.
"""

from __future__ import annotations

import json
import re
from typing import Final

import msgspec

from assets.trajectories.wording import strip_answer, strip_untrusted, strip_user
from lake.ids import Json

Normal = tuple[Json, ...]
"""(role, text, calls …); equal for messages that say the same."""

_IMAGE: Final = re.compile(r"\n?\[image [^\]\n]*\]")
_IMAGES_SERVED: Final = "Image(s) from tool result"


def text_of(message: Json) -> str:
    """Text of an OpenAI chat message, whatever its content is wrapped in."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            str(part.get("text", "")) for part in content if isinstance(part, dict) and part.get("type") == "text"
        )
    return ""


def normal(message: dict[str, Json]) -> Normal | None:
    """The comparable form of a message; None for one that no transcript holds."""
    role = message.get("role")
    text = text_of(message)
    if role == "user":
        if text.startswith(_IMAGES_SERVED):
            return None
        return ("user", strip_user(text)[0].strip())
    if role == "assistant":
        calls = message.get("tool_calls")
        return (
            "assistant",
            strip_answer(text)[0].strip(),
            *(_call(call) for call in (calls if isinstance(calls, list) else ()) if isinstance(call, dict)),
        )
    if role == "tool":
        return ("tool", strip_untrusted(_IMAGE.sub("", text))[0].strip())
    return ("system", text.strip())


def _call(call: dict[str, Json]) -> tuple[str, str]:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    return str(function.get("name")), canonical_arguments(function.get("arguments"))


def canonical_arguments(arguments: Json) -> str:
    """Arguments, an object or JSON text, as JSON text with sorted keys; as they are when they are no JSON."""
    value = arguments
    if isinstance(arguments, str):
        try:
            value = msgspec.json.decode(arguments or "{}")
        except (ValueError, RecursionError):
            return arguments
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
