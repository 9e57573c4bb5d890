"""OpenClaw's trajectory events (`trajectory_runtime_events`, `.trajectory.jsonl`): what the transcript does not know.

The system prompt and the tools of the run, and the calls of turns that the transcript lost. Bounded and redacted by
OpenClaw, so evidence beside the transcript, never a session of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from assets.logs.decode import decode
from assets.logs.timestamps import parse_time
from assets.trajectories.content import read_arguments
from assets.trajectories.entries import Row
from assets.trajectories.findings import Findings, Place
from assets.trajectories.normal import text_of
from assets.trajectories.rules import records
from lake.ids import Json


@dataclass(slots=True)
class TraceCall:
    """A tool call as the flight recorder has it."""

    at: Place
    name: str
    arguments: dict[str, Json]
    ts: datetime | None


@dataclass(slots=True)
class TraceMessage:
    """A message as a snapshot of the conversation holds it, or a prompt as it was submitted."""

    at: Place
    message: dict[str, Json]
    ts: datetime | None
    text: str = ""
    """Of users."""


@dataclass
class Trace:
    """What the events of one session say."""

    findings: Findings
    system: str | None = None
    system_at: Place | None = None
    tools: list[Json] | None = None
    """OpenAI tool schemas."""
    harness: str | None = None
    first_at: datetime | None = None
    prompts: list[TraceMessage] = field(default_factory=list)
    messages: dict[tuple[str, Json], TraceMessage] = field(default_factory=dict)
    """Of all snapshots, by role and time."""
    calls: dict[str, TraceCall] = field(default_factory=dict)


def read_trace(rows: list[Row]) -> Trace:
    """Read the events of one session, in order."""
    found = Trace(Findings())
    before: dict[str, Json] | None = None
    for line, row in enumerate(rows, 1):
        place = Place(row.position, line, row.key)
        if row.raw is None:
            found.findings.quarantine(place, records.OVERSIZED)
            continue
        decoded = decode(row.raw, first=line == 1)
        if decoded.value is None:
            rule = records.UNREADABLE[decoded.status]
            if decoded.status == "blank":
                found.findings.drop(place, rule)
            else:
                found.findings.quarantine(place, rule, f"{len(row.raw)} bytes")
            continue
        found.findings.keep(place, "evidence")
        _check_window(found, place, before, decoded.value)
        before = decoded.value
        data = decoded.value.get("data")
        if isinstance(data, dict):
            _take(found, place, decoded.value, data)
    return found


def _check_window(found: Trace, place: Place, before: dict[str, Json] | None, event: dict[str, Json]) -> None:
    """State where events are gone: OpenClaw keeps a bounded window of them, and numbers those of a run from 1."""
    seq = event.get("seq")
    if event.get("type") == "trace.truncated":
        found.findings.add(place, records.TRACE_WINDOW, "OpenClaw states that it left events out")
    elif type(seq) is not int or seq <= 1:
        return
    elif before is None:
        found.findings.add(place, records.TRACE_WINDOW, f"begins with event {seq} of its run")
    elif event.get("runId") == before.get("runId") and before.get("seq") not in (seq - 1, seq):
        found.findings.add(place, records.TRACE_WINDOW, f"event {seq} behind event {before.get('seq')}"[:80])
    elif event.get("runId") != before.get("runId"):
        found.findings.add(place, records.TRACE_WINDOW, f"a run begins with event {seq}")


def _harness(stated: dict[str, Json]) -> str | None:
    version = stated.get("version")
    return f"openclaw {version}" if isinstance(version, str) and version else None


def _take(found: Trace, place: Place, event: dict[str, Json], data: dict[str, Json]) -> None:
    ts = parse_time(event.get("ts"))
    found.first_at = found.first_at or ts
    kind = event.get("type")
    if kind == "context.compiled":
        if found.system is None and isinstance(data.get("systemPrompt"), str):
            found.system, found.system_at = data["systemPrompt"], place
        if found.tools is None and isinstance(data.get("tools"), list):
            found.tools = [_schema(tool) for tool in data["tools"] if isinstance(tool, dict)] or None
    elif kind == "prompt.submitted" and isinstance(data.get("prompt"), str):
        text = data["prompt"]
        found.prompts.append(TraceMessage(place, {"role": "user", "content": text}, ts, text))
    elif kind == "model.completed" and isinstance(data.get("messagesSnapshot"), list):
        for message in data["messagesSnapshot"]:
            _take_message(found, place, message)
    elif kind == "trace.metadata" and isinstance(data.get("harness"), dict):
        found.harness = _harness(data["harness"]) or found.harness
    elif kind == "tool.call" and isinstance(data.get("toolCallId"), str):
        arguments = read_arguments(place, data.get("args"), found.findings)
        found.calls.setdefault(data["toolCallId"], TraceCall(place, str(data.get("name") or "unknown"), arguments, ts))


def _take_message(found: Trace, place: Place, message: Json) -> None:
    """A message of a snapshot, unless an earlier one held it."""
    role, stated = (message.get("role"), message.get("timestamp")) if isinstance(message, dict) else (None, None)
    if role not in ("user", "assistant", "toolResult") or not isinstance(stated, (int, float, str)):
        return
    key = (str(role), stated)
    if key not in found.messages:
        text = text_of(message) if role == "user" else ""
        found.messages[key] = TraceMessage(place, message, parse_time(stated), text)


def _schema(tool: dict[str, Json]) -> Json:
    if tool.get("type") == "function" and isinstance(tool.get("function"), dict):
        return tool
    return {
        "type": "function",
        "function": {key: tool[key] for key in ("name", "description", "parameters") if key in tool},
    }
