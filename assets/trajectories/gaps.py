"""A transcript that begins later than its run: what the trajectory events still hold of the beginning is put before it.

Messages are told apart by role and time, as both logs state them. Both are bounded, so such a session is never called
complete (class `incomplete`), and what was put before it is context: another file may hold it too, so it is neither
counted nor trained on. Does not belong here: reading either log (`clean`, `trace`).
"""

from __future__ import annotations

from datetime import datetime

from assets.trajectories.clean import CleanSession, no_recovery
from assets.trajectories.entries import Entry
from assets.trajectories.findings import Findings
from assets.trajectories.pairing import pair
from assets.trajectories.rules.structure import HEAD_GAP, RECOVERED_HEAD
from assets.trajectories.steps import Step
from assets.trajectories.trace import Trace
from assets.trajectories.turns import Reader
from assets.trajectories.wording import strip_user

_APART_S = 1.0
"""Times of one message in the two logs differ by less."""


def fill_head(session: CleanSession, trace: Trace) -> None:
    """Put what only the events know before the branches it belongs to, and state the gap."""
    own = [step for branch in session.branches for step in branch.steps if not step.context]
    first = min(own, key=lambda step: step.at.position, default=None)
    if first is None or session.begins_at is None:
        return
    entries = _missing(session, session.begins_at, trace)
    if not entries:
        return
    known = min(entry.ts for entry in entries if entry.ts is not None)
    detail = f"transcript from {session.begins_at.isoformat()}, events from {known.isoformat()}"
    session.findings.add(first.at, HEAD_GAP, detail)
    steps = 0
    for branch in session.branches:
        if branch.steps and branch.steps[0].at.position == first.at.position:
            head = _head(entries, session.cwd, {call.id for step in branch.steps for call in step.calls})
            steps = len(head)
            branch.steps[:0] = head
            branch.class_ = "incomplete" if branch.class_ == "normal" else branch.class_
    if steps:
        session.findings.add(first.at, RECOVERED_HEAD, f"{steps} from record {entries[0].key[:16]} on")


def _missing(session: CleanSession, begins_at: datetime, trace: Trace) -> list[Entry]:
    """Messages and prompts from before the transcript's first message, as entries, by time."""
    said = {step.text.strip() for branch in session.branches for step in branch.steps if step.role == "user"}
    found: list[Entry] = []
    for made in [*trace.messages.values(), *trace.prompts]:
        if made.ts is None or (begins_at - made.ts).total_seconds() <= _APART_S:
            continue
        if made.message.get("role") == "user":
            text = strip_user(made.text)[0].strip()
            if text in said:
                continue
            said.add(text)
        entry = Entry(-1 - len(found), 0, made.at.key, kind="message", ts=made.ts, message=made.message)
        entry.role, entry.id = str(made.message.get("role")), f"#{entry.position}"
        found.append(entry)
    return sorted(found, key=lambda entry: entry.ts or begins_at)


def _head(entries: list[Entry], cwd: str | None, taken: set[str]) -> list[Step]:
    """Fresh steps of the entries, by the rules transcripts are read by; every call in the messages has a result."""
    findings = Findings()  # they are another source's records: nothing is stated of them here
    steps = pair(Reader(cwd, findings).turns([(entry, True) for entry in entries]).steps, findings, no_recovery)
    for step in steps:
        step.spoken = step.spoken and all(call.result is not None for call in step.calls)
        for call in step.calls:
            call.id = f"{call.stated_id}__head" if call.stated_id in taken else call.stated_id
            if call.result is not None:
                call.result.tool_call_id, call.result.spoken = call.id, step.spoken
    return steps
