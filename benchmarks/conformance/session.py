"""Generated sessions: a correct one to build on, and the means to plant one defect in it.

Belongs here: records and bytes. Does not belong here: what is right to make of them (`cases`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Self

USAGE: Final = {"input": 100, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 120}
_BEGIN: Final = datetime(2026, 3, 1, 10)


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

    def forked(self, session_id: str, minute: int) -> Self:
        """Another session that begins with a copy of this one's history."""
        fork = type(self)(session_id, minute=minute)
        fork.records += [dict(record) for record in self.records[1:]]
        fork.last = self.last
        return fork

    def time(self) -> str:
        """The next minute."""
        self.minute += 1
        return f"{_BEGIN + timedelta(minutes=self.minute):%Y-%m-%dT%H:%M:%S}.000Z"

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

    def data(self) -> bytes:
        """The file."""
        return b"".join(line + b"\n" for line in self.lines())


def exec_call(call_id: str, command: str = "ls") -> tuple[str, str, Any]:
    """An exec call."""
    return call_id, "exec", {"command": command}
