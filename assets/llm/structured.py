"""Binding answers to a schema: the schema as servers want it, and reading what came instead of clean JSON.

Belongs here: pure functions between text and pydantic models. Does not belong here: asking again (`client.py`).
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

T = TypeVar("T", bound=BaseModel)

_THOUGHT: Final = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL)
_TRAILING_COMMA: Final = re.compile(r",(\s*[}\]])")
_SHOWN: Final = 8
"""Problems of an answer that are told back."""


class MalformedError(Exception):
    """An answer is not what the schema asks for; the text says how, in a few lines."""


def strict_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a model in the strict form: every property required, no others allowed, no defaults."""
    schema: dict[str, Any] = json.loads(json.dumps(model.model_json_schema()))
    _tighten(schema)
    return schema


def _tighten(node: Any) -> None:
    if isinstance(node, dict) and "$ref" in node:
        for key in set(node) - {"$ref"}:  # strict servers take nothing beside a reference
            del node[key]
    elif isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            node["required"] = list(node["properties"])
            node["additionalProperties"] = False
        for key in ("default", "title"):
            if not isinstance(node.get(key), dict):  # a property may be called so
                node.pop(key, None)
        for value in node.values():
            _tighten(value)
    elif isinstance(node, list):
        for value in node:
            _tighten(value)


def request_field(mode: str, name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The request field that binds an answer; empty in the mode `text`."""
    if mode == "json_schema":
        wanted = {"name": name, "schema": schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": wanted}}
    return {"response_format": {"type": "json_object"}} if mode == "json_object" else {}


def instruction(schema: dict[str, Any]) -> str:
    """What the prompt says of the form, whether the server binds the answer or not."""
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f"Answer with one JSON object and nothing else. It follows this JSON schema:\n{text}"


def read(text: str, model: type[T]) -> T:
    """The object in an answer: behind a thought, inside a fence, between sentences, with trailing commas.

    Raises:
        MalformedError: there is none, or it breaks the schema.
    """
    body = _THOUGHT.sub("", text).strip()
    found = _objects(body) or _objects(_TRAILING_COMMA.sub(r"\1", body))
    if not found:
        raise MalformedError("there is no complete JSON object in the answer")
    problems: list[str] = []
    for value in found:
        try:
            return model.model_validate(value)
        except ValidationError as error:
            problems = [
                f"{'.'.join(str(part) for part in item['loc']) or 'the object'}: {item['msg']}"
                for item in error.errors(include_url=False)[:_SHOWN]
            ]
    raise MalformedError("; ".join(problems))


def _objects(text: str) -> list[dict[str, Any]]:
    """The complete JSON objects of a text that are in no other, the largest first."""
    decoder = json.JSONDecoder(strict=False)
    found: list[tuple[int, dict[str, Any]]] = []
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(value, dict):
            found.append((end - at, value))
        at = text.find("{", end)
    return [value for _, value in sorted(found, key=lambda item: -item[0])]
