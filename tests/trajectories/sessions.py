"""Generated sessions: a correct one to build on, and the means to plant one defect in it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from assets.logs.decode import head
from assets.trajectories.clean import CleanSession, SourceRef, clean_session
from assets.trajectories.entries import Row
from lake.ids import record_key

USAGE = {"input": 100, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 120}


@dataclass
class Session:
    """Records of one session, each hanging on the one before unless told otherwise."""

    session_id: str = "s-1"
    records: list[dict[str, Any]] = field(default_factory=list)
    last: str | None = None
    minute: int = 0

    def __post_init__(self) -> None:
        self.records.append(
            {"type": "session", "version": 3, "id": self.session_id, "timestamp": self.time(), "cwd": "/workspace"}
        )

    def time(self) -> str:
        """The next minute."""
        self.minute += 1
        return f"2026-03-01T{10 + self.minute // 60:02d}:{self.minute % 60:02d}:00.000Z"

    def add(self, record: dict[str, Any], parent: str | None = None, record_id: str | None = None) -> str:
        """Append a record; gives its id."""
        made = record_id or f"e{len(self.records):03d}"
        self.records.append(
            {"id": made, "parentId": parent if parent is not None else self.last, "timestamp": self.time(), **record}
        )
        self.last = made
        return made

    def message(self, message: dict[str, Any], parent: str | None = None, record_id: str | None = None) -> str:
        """Append a message."""
        return self.add({"type": "message", "message": message}, parent, record_id)

    def user(self, text: str, parent: str | None = None) -> str:
        """A user message."""
        return self.message({"role": "user", "content": [{"type": "text", "text": text}]}, parent)

    def assistant(self, text: str = "", *calls: tuple[str, str, Any], parent: str | None = None, **more: Any) -> str:
        """An assistant message with calls (id, tool, arguments)."""
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        content += [{"type": "toolCall", "id": i, "name": n, "arguments": a} for i, n, a in calls]
        message = {
            "role": "assistant", "content": content, "provider": "p", "model": "m", "usage": USAGE,
            "stopReason": "toolUse" if calls else "stop",
        }  # fmt: skip
        return self.message({**message, **more}, parent)

    def result(self, call_id: str, text: str = "ok", parent: str | None = None, **more: Any) -> str:
        """A tool result."""
        return self.message(
            {
                "role": "toolResult",
                "toolCallId": call_id,
                "toolName": "exec",
                "content": [{"type": "text", "text": text}],
                "isError": False,
                **more,
            },
            parent,
        )

    def lines(self) -> list[bytes]:
        """The records as JSON lines."""
        return [json.dumps(record, ensure_ascii=False).encode() for record in self.records]

    def clean(self) -> CleanSession:
        """Cleaned."""
        return clean_lines(self.lines())


def exec_call(call_id: str, command: str = "ls") -> tuple[str, str, Any]:
    """An exec call."""
    return call_id, "exec", {"command": command}


def rows_of(lines: list[bytes], *, final_newline: bool = True) -> list[Row]:
    """Raw records of a file with these lines."""
    rows: list[Row] = []
    position = 0
    for number, line in enumerate(lines):
        rows.append(Row(record_key("s", 0, position), position, line, head(line, first=number == 0)[1]))
        position += len(line) + 1
    return rows


def clean_lines(lines: list[bytes], kind: str = "openclaw.jsonl") -> CleanSession:
    """Cleaned records of a file with these lines; every one of them must have a fate."""
    rows = rows_of(lines)
    session = clean_session(SourceRef("f" * 64, 0, kind, "from-the-name"), rows)
    assert sum(session.ledger.values()) == len(rows)
    return session


def found(session: CleanSession) -> list[tuple[str, int]]:
    """Findings as (rule, line), sorted; those that only say that a rule ran as it should are left out."""
    quiet = {"usage_unknown", "noise_record"}
    return sorted((f.rule.name, f.line) for f in session.findings.found.values() if f.rule.name not in quiet)


def ledger(session: CleanSession) -> dict[str, int]:
    """Fates as `disposition:rule`."""
    return {f"{disposition}:{rule}": count for (disposition, rule), count in sorted(session.ledger.items())}


def said(session: CleanSession, branch: int = 0) -> list[str]:
    """The messages of a branch, short: role, text, calls with their ids."""
    from assets.trajectories.linear import linear

    short: list[str] = []
    for _, message in linear(session.branches[branch].steps, None):
        calls = [call["id"] for call in message.get("tool_calls", ())]
        answers = f"<{message['tool_call_id']}>" if message["role"] == "tool" else ""
        short.append(f"{message['role']}{answers}: {message['content']}" + (f" {calls}" if calls else ""))
    return short
