"""Steps of a trajectory: a message each, with its calls, its result's error, its usage.

Belongs here: the types, and reading one entry into them. Does not belong here: which entries become steps (`clean`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from assets.trajectories.content import Content, dumps
from assets.trajectories.entries import Entry
from assets.trajectories.findings import Findings, Place
from assets.trajectories.phases import classify
from assets.trajectories.rules import fields
from assets.trajectories.rules.registry import Rule
from lake.ids import Json

_INT64: Final = 2**63 - 1
_EXITED: Final = re.compile(r"\(Command exited with code (\d{1,9})\)\s*\Z")
_FAILED_TEXTS: Final = re.compile(
    r"\s{0,200}(?:Tool \S{1,80} not found|Validation failed for tool |\{\s{0,100}\"status\":\s{0,20}\"error\")"
)
_FAILED_STATUS: Final = frozenset({"error", "failed", "blocked"})


@dataclass(slots=True, eq=False)
class StepCall:
    """A tool call of an assistant step."""

    id: str
    """Unique in its trajectory's messages."""
    stated_id: str
    """As the transcript has it."""
    name: str
    arguments: dict[str, Json]
    phase: str
    target: str | None
    result: Step | None = None


@dataclass(slots=True, eq=False)
class Step:
    """One message."""

    at: Place
    role: str
    """system | user | assistant | tool"""
    text: str = ""
    thinking: str = ""
    calls: list[StepCall] = field(default_factory=list)
    ts: datetime | None = None
    spoken: bool = True
    """Stands in the linear messages."""
    context: bool = False
    """Already a step of an earlier trajectory: kept over a compaction, or copied from another session."""
    # of tools
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    error_source: str | None = None
    exit_code: int | None = None
    duration_ms: int | None = None
    # of assistants
    stop_reason: str | None = None
    model: str | None = None
    response_id: str | None = None
    usage: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    proxy_key: str | None = None
    history: str | None = None
    """Of documents: digest of the conversation up to here, which tells a copy where neither id nor time does."""


def assistant_step(entry: Entry, content: Content, cwd: str | None, findings: Findings) -> Step:
    """An assistant message as a step."""
    message = entry.message
    step = Step(entry, "assistant", content.text, content.thinking, ts=entry.ts)
    for call in content.calls:
        phase, target = classify(call.name, call.arguments, cwd)
        step.calls.append(StepCall(call.id, call.id, call.name, call.arguments, phase, target))
    step.stop_reason = _text(message.get("stopReason"))
    step.model = _text(message.get("model"))
    step.response_id = _text(message.get("responseId"))
    read_usage(entry, message.get("usage"), step, findings)
    return step


def read_usage(at: Place, usage: Json, step: Step, findings: Findings) -> None:
    """Provider-stated tokens of a turn: the native record untouched, and prompt and completion tokens (usage@1).

    The prompt counts cached tokens too, unless the stated total shows that `input` holds them already.
    """
    if usage is None:
        return
    if not isinstance(usage, dict):
        findings.add(at, fields.BAD_USAGE, f"{type(usage).__name__} for usage")
        return
    step.usage = dumps(usage)
    counts = _plain_counts(usage) or _counts(at, usage, findings)
    if not any(counts):
        return
    given, made, read, write, total = counts
    step.output_tokens = made
    if given is not None:
        inside = "prompt_tokens" in usage or (made is not None and total == given + made)
        step.input_tokens = given if inside else min(given + (read or 0) + (write or 0), _INT64)


_Counts = tuple[int | None, int | None, int | None, int | None, int | None]
"""Input, output, cache read, cache write, total; null where unknown."""
_USAGE: Final = {
    "input": ("input", "prompt_tokens", "input_tokens"),
    "output": ("output", "completion_tokens", "output_tokens"),
    "cache_read": ("cacheRead", "cache_read_input_tokens"),
    "cache_write": ("cacheWrite", "cache_creation_input_tokens"),
    "total": ("totalTokens", "total_tokens", "total"),
}
_OPENCLAW: Final = tuple(keys[0] for keys in _USAGE.values())


def _plain_counts(usage: dict[str, Json]) -> _Counts | None:
    """Counts of a usage record as OpenClaw writes it, if it is nothing else and not all zero."""
    given, made, read, write, total = map(usage.get, _OPENCLAW)
    if (
        type(given) is type(made) is type(read) is type(write) is type(total) is int
        and min(given, made, read, write, total) >= 0 < max(given, made, read, write, total) <= _INT64
    ):
        return given, made, read, write, total
    return None


def _counts(at: Place, usage: dict[str, Json], findings: Findings) -> _Counts:
    """Counts of any usage record; what is no count becomes null, and so does all zero."""
    numbers = {name: _first(usage, keys) for name, keys in _USAGE.items()}
    bad = [name for name, value in numbers.items() if value is not None and not _is_count(value)]
    if bad:
        findings.add(at, fields.BAD_USAGE, ", ".join(f"{name} {numbers[name]!r}"[:60] for name in bad))
    given, made, read, write, total = (
        int(value) if value is not None and name not in bad else None for name, value in numbers.items()
    )
    counts = given, made, read, write, total
    if not any(counts) and not bad and any(value is not None for value in counts):
        findings.add(at, fields.ZERO_USAGE)
    return counts


def _first(usage: dict[str, Json], keys: tuple[str, ...]) -> Json:
    return next((usage[key] for key in keys if usage.get(key) is not None), None)


def _is_count(value: Json) -> bool:
    if type(value) is float:
        return value.is_integer() and 0 <= value <= _INT64
    return type(value) is int and 0 <= value <= _INT64


def result_step(entry: Entry, content: Content, findings: Findings) -> Step:
    """A tool result as a step, its three error channels brought into one."""
    message = entry.message
    step = Step(entry, "tool", content.text, ts=entry.ts)
    stated = message.get("toolCallId")
    step.tool_call_id = stated if isinstance(stated, str) and stated else None
    step.tool_name = _text(message.get("toolName"))
    details = message.get("details")
    details = details if isinstance(details, dict) else {}
    step.exit_code = _int32(details.get("exitCode"))
    duration = details.get("durationMs")
    step.duration_ms = int(duration) if isinstance(duration, int | float) and _is_count(duration) else None
    flag = message.get("isError")
    if flag is not None and not isinstance(flag, bool):
        findings.add(entry, fields.ODD_CONTENT, f"isError {flag!r}"[:80])
    found = _error(flag is True, details, step)
    step.is_error = found is not None
    if found is not None:
        step.error_source, rule = found
        findings.add(entry, rule, _error_detail(step))
    return step


def _error(flag: bool, details: dict[str, Json], step: Step) -> tuple[str, Rule] | None:
    if flag:
        return "is_error", fields.ERROR_IS_ERROR
    if str(details.get("status")) in _FAILED_STATUS:
        return "details_status", fields.ERROR_STATUS
    if step.exit_code:
        return "exit_code", fields.ERROR_EXIT
    tail = step.text[-80:]
    if "exited" in tail and (exited := _EXITED.search(tail)) and int(exited[1]) != 0:
        step.exit_code = int(exited[1]) if step.exit_code is None else step.exit_code
        return "text", fields.ERROR_TEXT
    return ("text", fields.ERROR_TEXT) if _FAILED_TEXTS.match(step.text) else None


def _error_detail(step: Step) -> str:
    code = "" if step.exit_code is None else f", exit code {step.exit_code}"
    return f"{step.tool_name or 'tool'}{code}"[:120]


def _int32(value: Json) -> int | None:
    return value if type(value) is int and -(2**31) <= value < 2**31 else None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
