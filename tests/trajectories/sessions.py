"""Generated sessions, cleaned: what a test says about them."""

from __future__ import annotations

from assets.logs.decode import head
from assets.trajectories.clean import CleanSession, SourceRef, clean_session
from assets.trajectories.entries import Row
from benchmarks.conformance.session import Session as Built
from benchmarks.conformance.session import exec_call
from lake.ids import record_key

__all__ = ["Session", "clean_lines", "exec_call", "found", "ledger", "rows_of", "said"]


class Session(Built):
    """A session that cleans itself."""

    def clean(self) -> CleanSession:
        """Cleaned."""
        return clean_lines(self.lines())


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
