"""Cleaning any source: a transcript as it is, a document by the records its format makes of it.

A document is one raw record and many steps, so its steps get places of their own inside it while they are cleaned;
findings and fates are then stated on the record itself. Does not belong here: any format, any rule.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from assets.logs.decode import decode
from assets.trajectories.clean import CleanBranch, CleanSession, SourceRef, Stated, clean_session, no_recovery
from assets.trajectories.content import dumps
from assets.trajectories.entries import Row
from assets.trajectories.findings import Findings, Place
from assets.trajectories.formats import atif, chat
from assets.trajectories.formats.cold import record_in
from assets.trajectories.formats.conversation import SESSION_VERSION, Conversation, Format
from assets.trajectories.linear import message_of
from assets.trajectories.pairing import Recover
from assets.trajectories.rules import RULES, documents, records
from assets.trajectories.steps import Step
from lake.ids import Json

FORMATS: Final[dict[str, Format]] = {
    "atif": atif.conversations,
    "atif.jsonl": atif.conversations,
    "chat.messages": chat.conversations,
}
"""By source kind."""

COLD: Final = "openclaw.cold"
_NO_TIME: Final = "missing_timestamp"


def clean_source(ref: SourceRef, rows: Iterable[Row], recover: Recover = no_recovery) -> CleanSession:
    """Clean a source of any kind that holds conversations; arguments and result as of `clean_session`."""
    if ref.kind in FORMATS:
        return _clean_documents(ref, list(rows), FORMATS[ref.kind])
    if ref.kind == COLD:
        return _clean_archive(ref, list(rows), recover)
    return clean_session(ref, rows, recover)


# --- documents ----------------------------------------------------------------------------------------------------


def _clean_documents(ref: SourceRef, rows: list[Row], read: Format) -> CleanSession:
    found = CleanSession(ref, [], Findings())
    for line, row in enumerate(_whole(rows, found.findings), 1):
        place = Place(row.position, line, row.key)
        for conversation, first in _conversations(row, place, read, found.findings):
            _clean_conversation(found, conversation, place, first)
    found.ledger = found.findings.ledger()
    return found


def _whole(rows: list[Row], findings: Findings) -> list[Row]:
    """Records; the pieces of one that was taken in while it was written are put together again."""
    whole: list[Row] = []
    for row in rows:
        last = whole[-1] if whole else None
        if (
            last is not None
            and last.raw is not None
            and row.raw is not None
            and last.position + len(last.raw) == row.position
        ):
            at = Place(row.position, len(whole), row.key)
            findings.keep(at, "fragment")
            findings.add(at, records.TORN_LINE)
            whole[-1] = Row(last.key, last.position, last.raw + row.raw, last.status)
        else:
            whole.append(row)
    return whole


def _conversations(row: Row, place: Place, read: Format, findings: Findings) -> Iterator[tuple[Conversation, int]]:
    """Conversations of one record, each with the place of its first step; states the record's fate."""
    if row.raw is None:
        findings.quarantine(place, records.OVERSIZED)
        return
    decoded = decode(row.raw, first=place.line == 1)
    for note in decoded.notes:
        findings.add(place, records.REPAIRED[note])
    if decoded.value is None:
        rule = records.UNREADABLE[decoded.status]
        if decoded.status == "blank":
            findings.drop(place, rule)
        else:
            findings.quarantine(place, rule, f"{len(row.raw)} bytes")
        return
    conversations = [one for one in read(decoded.value) if one.records or one.system]
    if not conversations:
        findings.quarantine(place, documents.NO_CONVERSATION)
        return
    findings.keep(place, "conversation")
    first = row.position
    for conversation in conversations:
        yield conversation, first
        first += len(conversation.records) + 2  # a record is longer than the number of its steps


def _clean_conversation(found: CleanSession, conversation: Conversation, place: Place, first: int) -> None:
    """Clean one conversation of a document and add its trajectories."""
    for name, detail in conversation.notes:
        found.findings.add(place, RULES[name], detail)
    session_id = conversation.session_id or f"{found.ref.source_id[:20]}/{first}"
    own = SourceRef(found.ref.source_id, found.ref.version, found.ref.kind, session_id, found.ref.attempt_id)
    session = clean_session(own, _rows(conversation, session_id, place, first))
    timeless = not any("timestamp" in record for record in conversation.records)
    for finding in session.findings.found.values():
        if timeless and finding.rule.name == _NO_TIME:
            continue  # the format states none
        number = finding.position - first
        detail = f"step {number}: {finding.detail}" if finding.detail else f"step {number}"
        found.findings.add(place, finding.rule, detail[:240], finding.action)
    for branch in session.branches:
        _settle(branch, conversation, place, first, found.findings)
        found.branches.append(branch)
        found.stated[branch.trajectory_id] = Stated(conversation.tools, conversation.harness)


def _rows(conversation: Conversation, session_id: str, place: Place, first: int) -> list[Row]:
    """The conversation as raw records of a session."""
    header = {"type": "session", "version": SESSION_VERSION, "id": session_id, "timestamp": conversation.started}
    if conversation.parent is not None:
        header["parentSession"] = conversation.parent
    made: list[dict[str, Json]] = [header]
    for number, record in enumerate(conversation.records):
        parent = f"{first}.{number - 1}" if number else None
        made.append({**record, "id": f"{first}.{number}", "parentId": parent})
    return [Row(place.key, first + number, dumps(value).encode(), "ok") for number, value in enumerate(made)]


def _settle(branch: CleanBranch, conversation: Conversation, place: Place, first: int, findings: Findings) -> None:
    """Put a branch's steps on the document's record, with its system prompt, and mark what it says was copied."""
    copied = {first + 1 + number for number in conversation.copied}
    if conversation.system:
        branch.steps.insert(0, Step(replace(place, position=-1), "system", conversation.system))
    history = ""
    for step in branch.steps:
        history = hashlib.sha256((history + dumps(message_of(step))).encode("utf-8", "replace")).hexdigest()
        step.history = history
    for step in branch.steps:
        if step.at.position in copied:
            step.context = True
            findings.add(place, documents.COPIED_STEP, f"step {step.at.position - first}")
        step.at = Place(place.position, place.line, place.key)
    branch.places = {place.position}
    answers = [step for step in branch.steps if step.role == "assistant"]
    if answers and all(step.context for step in answers):
        branch.class_ = "copy"


# --- cold archives ------------------------------------------------------------------------------------------------


def _clean_archive(ref: SourceRef, rows: list[Row], recover: Recover) -> CleanSession:
    """Clean the transcript inside an archive; its other lines are metadata or unreadable."""
    inner: list[Row] = []
    rest: list[tuple[Place, bool]] = []
    for line, row in enumerate(rows, 1):
        record = record_in(row)
        if isinstance(record, bytes):
            inner.append(Row(row.key, row.position, record, row.status))
        else:
            rest.append((Place(row.position, line, row.key), bool(record)))
    session = clean_session(ref, inner, recover)
    for place, known in rest:
        if known:
            session.findings.keep(place, "metadata")
        else:
            session.findings.quarantine(place, records.UNKNOWN_TYPE, "line of an archive")
    session.ledger = session.findings.ledger()
    return session
