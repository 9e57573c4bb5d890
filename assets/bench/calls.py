"""How often a model's tool calls are well formed.

Belongs here: judging one call against the schemas served. Does not belong here: whether the call was wise.

A call counts as tried when the endpoint returned one, or when the text holds the opening or the closing mark of one
that nobody could read. It counts as valid when it names a tool that was served, its arguments are a JSON object, and
all that the schema requires is there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from lake.ids import Json

MARKS = ("<tool_call>", "</tool_call>")


def count_calls(completion: Mapping[str, Json], tools: Sequence[Mapping[str, Json]]) -> tuple[int, int]:
    """(tried, valid) calls of one completion."""
    calls = completion.get("tool_calls") or []
    content = completion.get("content")
    texts = content if isinstance(content, list) else [content]
    text = "".join(str(part.get("text", "")) if isinstance(part, dict) else str(part or "") for part in texts)
    schemas = {str(tool["function"]["name"]): tool["function"].get("parameters") or {} for tool in tools}
    return len(calls) + max(map(text.count, MARKS)), sum(is_valid(call, schemas) for call in calls)


def is_valid(call: Mapping[str, Json], schemas: Mapping[str, Mapping[str, Json]]) -> bool:
    """Whether a call is well formed for the tools served."""
    function = call.get("function")
    if not isinstance(function, dict) or function.get("name") not in schemas:
        return False
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return False
    if not isinstance(arguments, dict):
        return False
    return set(schemas[function["name"]].get("required", ())) <= arguments.keys()
