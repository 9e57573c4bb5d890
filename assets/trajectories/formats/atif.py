"""ATIF trajectories (Harbor's interchange format, versions 1.0 to 1.8): steps to session records.

A step holds a turn and the results of its calls. Steps that the document says were copied are context, embedded
sub-agents are conversations of their own. Fields are read wherever they stand, whatever version is stated.
"""

from __future__ import annotations

import re
from typing import Final

from assets.trajectories.formats.conversation import Conversation, blocks_of, text_in
from lake.ids import Json

KNOWN: Final = tuple(f"ATIF-v1.{minor}" for minor in range(9))
_VERSION: Final = re.compile(r"ATIF-v(\d+)\.(\d+)(\.\d+)?", re.IGNORECASE)
_MAX_DEPTH: Final = 8
"""Embedded sub-agents of sub-agents are read down to here."""


def conversations(document: dict[str, Json]) -> list[Conversation]:
    """See `Format`."""
    return _conversations(document, None, 0)


def _conversations(document: dict[str, Json], parent: str | None, depth: int) -> list[Conversation]:
    steps = document.get("steps")
    if not isinstance(steps, list):
        return []
    stated = _object(document.get("extra")).get("parent_session_id")
    found = Conversation(_name(document, parent), parent or (stated if isinstance(stated, str) else None))
    agent = _object(document.get("agent"))
    tools = agent.get("tool_definitions")
    found.tools = tools if isinstance(tools, list) else None
    found.harness = " ".join(str(agent[key]) for key in ("name", "version") if agent.get(key)) or None
    _check_version(document, found)
    systems: list[str] = []
    for number, step in enumerate(steps):
        if not isinstance(step, dict):
            found.notes.append(("odd_content", f"step {number} is {type(step).__name__}"))
            continue
        if step.get("source") == "system" and not found.records and step.get("observation") is None:
            systems.append(text_in(step.get("message")))
            continue
        _step(found, step, agent.get("model_name"), number)
    found.system = "\n\n".join(systems) if systems else None
    found.started = next((s.get("timestamp") for s in steps if isinstance(s, dict) and s.get("timestamp")), None)
    embedded = document.get("subagent_trajectories")
    if depth == _MAX_DEPTH or not isinstance(embedded, list):
        return [found]
    inner = [_conversations(one, found.session_id, depth + 1) for one in embedded if isinstance(one, dict)]
    return [found, *(conversation for of_one in inner for conversation in of_one)]


def _name(document: dict[str, Json], parent: str | None) -> str | None:
    """A document's session; an embedded one goes by its own id, since it may share its parent's run."""
    keys = ("trajectory_id", "session_id") if parent is not None else ("session_id", "trajectory_id")
    return next((document[key] for key in keys if isinstance(document.get(key), str) and document[key]), None)


def _check_version(document: dict[str, Json], found: Conversation) -> None:
    stated = document.get("schema_version")
    matched = _VERSION.fullmatch(stated) if isinstance(stated, str) else None
    if matched is None or matched[1] != "1" or int(matched[2]) >= len(KNOWN):
        found.notes.append(("unknown_session_version", f"version {stated!r}"[:80]))
    continued = document.get("continued_trajectory_ref")
    if continued is not None:
        found.notes.append(("continued_elsewhere", f"goes on in {continued}"[:200]))


def _step(found: Conversation, step: dict[str, Json], model: Json, number: int) -> None:
    source, time = step.get("source"), step.get("timestamp")
    copied = step.get("is_copied_context") is True
    calls = step.get("tool_calls")
    calls = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    if source == "agent":
        found.say(_turn(step, calls, model), time, copied=copied)
    elif source == "user":
        found.say({"role": "user", "content": blocks_of(step.get("message"))}, time, copied=copied)
    elif text_in(step.get("message")):
        found.insert(text_in(step.get("message")), "system", time, copied=copied)
    if source not in ("agent", "user", "system"):
        found.notes.append(("unknown_role", f"step {number}: source {source!r}"[:80]))
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else None
    for result in results if isinstance(results, list) else ():
        if isinstance(result, dict):
            _result(found, result, calls, time, copied)


def _turn(step: dict[str, Json], calls: list[dict[str, Json]], model: Json) -> dict[str, Json]:
    thinking, extra = step.get("reasoning_content"), _object(step.get("extra"))
    metrics = step.get("metrics")
    usage = {k: v for k, v in metrics.items() if not isinstance(v, list)} if isinstance(metrics, dict) else None
    return {
        "role": "assistant",
        "content": [
            *([{"type": "thinking", "thinking": thinking}] if thinking else []),
            *blocks_of(step.get("message")),
            *(
                {
                    "type": "toolCall",
                    "id": call.get("tool_call_id"),
                    "name": call.get("function_name"),
                    "arguments": call.get("arguments"),
                }
                for call in calls
            ),
        ],
        "model": step.get("model_name") or model,
        "usage": usage,
        "responseId": extra.get("response_id"),
        "stopReason": extra.get("stop_reason") or ("toolUse" if calls else "stop"),
    }


def _result(
    found: Conversation, result: dict[str, Json], calls: list[dict[str, Json]], time: Json, copied: bool
) -> None:
    """A result of a call; one that names no call answers the step's only call, else it is context."""
    stated = result.get("source_call_id")
    if stated is None and len(calls) == 1:
        stated = calls[0].get("tool_call_id")
    extra = _object(result.get("extra"))
    content = blocks_of(result.get("content")) + _references(result)
    if stated is None:
        if text_in(content):
            found.insert(text_in(content), "observation", time, copied=copied)
        return
    name = next((call.get("function_name") for call in calls if call.get("tool_call_id") == stated), None)
    message = {
        "role": "toolResult",
        "toolCallId": stated,
        "toolName": name,
        "content": content,
        "isError": extra.get("is_error"),
        "details": {"exitCode": extra.get("exit_code"), "durationMs": extra.get("duration_ms")},
    }
    found.say(message, extra.get("timestamp") or time, copied=copied)


def _references(result: dict[str, Json]) -> list[Json]:
    """What stands for delegated work in a result that has no words of its own."""
    stated = result.get("subagent_trajectory_ref")
    if result.get("content") is not None or stated is None:
        return []
    references = stated if isinstance(stated, list) else [stated]
    names = [
        str(one.get("trajectory_id") or one.get("session_id") or one.get("trajectory_path"))
        for one in references
        if isinstance(one, dict)
    ]
    return [{"type": "text", "text": f"[sub-agent {', '.join(names)}]"}]


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
