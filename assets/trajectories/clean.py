"""One session's records to its cleaned trajectories: the pure function the projection applies to every source.

records → entries → tree → branches → context windows → steps, paired → classes. Findings and the fate of every
record come along; nothing is read but the arguments. Does not belong here: tables, secrets (`render`), the proxy's log
(`served`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Final

from assets.logs.catalogue import ROW_KINDS
from assets.trajectories.entries import Entry, Header, Read, Row, read_entries
from assets.trajectories.findings import Fate, Findings, Place
from assets.trajectories.pairing import Recover, pair
from assets.trajectories.rules import fields, noise, pairing, records, structure
from assets.trajectories.steps import Step
from assets.trajectories.tree import Branch, branches, is_injected, is_mirror
from assets.trajectories.turns import Reader, Turns
from lake.ids import Json, digest

_OUT_OF_ORDER_S: Final = 1.0


@dataclass(frozen=True)
class SourceRef:
    """Which source is cleaned."""

    source_id: str
    version: int
    kind: str
    session_id: str | None
    attempt_id: str | None = None


@dataclass
class CleanBranch:
    """One trajectory: a context window of a branch."""

    trajectory_id: str
    branch: int
    session_id: str
    parent_session: str | None
    steps: list[Step]
    class_: str
    started_at: datetime | None
    ended_at: datetime | None
    places: set[int]
    """Positions of the records that stand in it."""


@dataclass(frozen=True)
class Stated:
    """What a source itself states of a trajectory, beside the conversation."""

    tools: Json = None
    """Tool schemas."""
    harness: str | None = None
    """Agent software and its version."""


@dataclass
class CleanSession:
    """What became of a source."""

    ref: SourceRef
    branches: list[CleanBranch]
    """Branch 0, on which the session ended, first; empty when the source holds no conversation."""
    findings: Findings
    ledger: Counter[Fate] = field(default_factory=Counter)
    cwd: str | None = None
    begins_at: datetime | None = None
    """Earliest time of a message, whatever became of it."""
    stated: dict[str, Stated] = field(default_factory=dict)
    """By trajectory id."""


def no_recovery(_: Step) -> Step | None:
    """A `Recover` that knows nothing."""
    return None


def clean_session(ref: SourceRef, rows: Iterable[Row], recover: Recover = no_recovery) -> CleanSession:
    """Clean one transcript.

    Args:
        ref: the source.
        rows: all its raw records by position.
        recover: finds an assistant turn that the transcript lost (in the proxy's log or the trajectory events).
    """
    rows = list(rows)
    findings = Findings()
    read = read_entries(rows, findings, whole_rows=ref.kind in ROW_KINDS)
    cwd = next((header.cwd for header in read.headers if header.cwd), None)
    reader = Reader(cwd, findings)
    windows: list[tuple[Branch, int, list[tuple[Entry, bool]]]] = []
    for number, branch in enumerate(branches(read, findings)):
        parts = [(branch, index, part) for index, part in enumerate(_windows(branch, findings))]
        spoken = [part for part in parts if any(not context for _, context in part[2])]
        chosen = spoken or parts[:1]
        windows += [chosen[-1], *chosen[:-1]] if number == 0 else chosen[::-1]
    found = _assemble(ref, read, windows, reader, findings, recover)
    _place_rest(rows, read, findings)
    begins_at = min((entry.ts for entry in read.entries if entry.ts and entry.kind == "message"), default=None)
    return CleanSession(ref, found, findings, findings.ledger(), cwd, begins_at)


def _place_rest(rows: list[Row], read: Read, findings: Findings) -> None:
    """Fates of what stands on no branch: mirrors beside it, branches beyond the limit; anything else is a defect."""
    without = [row for row in rows if findings.fate(row.position) is None]
    entries = {entry.position: entry for entry in read.entries} if without else {}
    for row in without:
        entry = entries.get(row.position)
        if entry is None:
            findings.quarantine(Place(row.position, 0, row.key), records.UNPLACED)
        elif is_mirror(entry):
            findings.drop(entry, noise.MIRROR)
        elif is_injected(entry):
            findings.drop(entry, noise.INJECTED)
        else:
            findings.drop(entry, structure.BRANCH_LIMIT)


def _assemble(
    ref: SourceRef,
    read: Read,
    windows: list[tuple[Branch, int, list[tuple[Entry, bool]]]],
    reader: Reader,
    findings: Findings,
    recover: Recover,
) -> list[CleanBranch]:
    found: list[CleanBranch] = []
    seen: set[frozenset[int]] = set()
    responses: set[str] = set()
    for branch, index, path in windows:
        turns = reader.turns(path)
        if not turns.last and not turns.steps:
            continue  # nothing was said
        steps = pair(turns.steps, findings, recover)
        own = frozenset(step.at.position for step in steps if not step.context)
        if found and (own in seen or _only_repeats(steps, seen, responses, branch, findings)):
            continue
        seen.add(own)
        responses |= {step.response_id for step in steps if step.response_id and not step.context}
        if found and branch.leaf is not windows[0][0].leaf and index == 0:
            findings.add(branch.leaf, structure.ABANDONED_BRANCH, f"{len(own)} records of its own path")
        for step in steps:
            findings.keep(step.at, "step")
        final = path[-1][0] is branch.path[-1]
        found.append(_branch(ref, len(found), read.headers, branch, index, steps, turns, findings, final=final))
    return found


def _only_repeats(
    steps: list[Step], seen: set[frozenset[int]], responses: set[str], branch: Branch, findings: Findings
) -> bool:
    """Whether a further branch says nothing of its own: no answer, or only answers of kept branches copied anew."""
    known = frozenset().union(*seen)
    fresh = [step for step in steps if step.role == "assistant" and not (step.context or step.at.position in known)]
    if fresh and not all(step.response_id in responses for step in fresh):
        return False
    rule = structure.DUPLICATE_BRANCH if fresh else structure.ABANDONED_BRANCH
    for step in steps:
        if step.at.position not in known:
            if fresh:
                findings.drop(step.at, rule)
            else:
                findings.keep(step.at, "abandoned")
                findings.add(branch.leaf, rule, "no answer on it")
    return True


def _windows(branch: Branch, findings: Findings) -> list[list[tuple[Entry, bool]]]:
    """Context windows of a branch: a new one at each compaction or reset, with the entries kept over it as context."""
    windows: list[list[tuple[Entry, bool]]] = [[]]
    for number, entry in enumerate(branch.path):
        if entry.kind not in ("compaction", "reset"):
            windows[-1].append((entry, False))
            continue
        first = _first_kept(branch.path, number, entry, findings)
        kept = [] if first is None else [(e, True) for e in branch.path[first:number] if e.kind not in _BOUNDARIES]
        windows.append([(entry, False) if entry.kind == "reset" else (entry, True), *kept])
        if entry.kind == "reset":
            findings.add(entry, structure.RESET, str(entry.value.get("reason") or "")[:80])
            findings.keep(entry, "reset")
            continue
        findings.keep(entry, "compaction")
        findings.add(entry, structure.COMPACTION, f"{len(kept)} entries kept")
        summary = entry.value.get("summary")
        if not isinstance(summary, str) or not summary.strip():
            findings.add(entry, structure.EMPTY_SUMMARY)
    return windows


_BOUNDARIES: Final = ("compaction", "reset")


def _first_kept(path: list[Entry], number: int, entry: Entry, findings: Findings) -> int | None:
    named, index = entry.value.get("firstKeptEntryId"), entry.value.get("firstKeptEntryIndex")
    if isinstance(named, str):
        found = next((i for i, e in enumerate(path[:number]) if e.id == named), None)
        if found is None:
            findings.add(entry, structure.FIRST_KEPT_MISSING, f"entry {named}"[:80])
        return found
    if type(index) is int and index >= 0:
        # v1 counts the file's records, header included; each entry's line is its number from 1
        return next((i for i, e in enumerate(path[:number]) if e.line - 1 >= index), None)
    if entry.kind == "compaction":
        findings.add(entry, structure.FIRST_KEPT_MISSING, "none named")
    return None


def _branch(
    ref: SourceRef,
    number: int,
    headers: list[Header],
    branch: Branch,
    index: int,
    steps: list[Step],
    turns: Turns,
    findings: Findings,
    *,
    final: bool,
) -> CleanBranch:
    own = [step for step in steps if not step.context]
    times = [step.ts for step in own if step.ts is not None]
    in_log = sorted((step for step in own if step.ts is not None), key=lambda step: step.at.position)
    for before, after in pairwise(in_log):
        if before.ts and after.ts and before.ts > after.ts:
            back = (before.ts - after.ts).total_seconds()
            if back > _OUT_OF_ORDER_S:
                findings.add(after.at, fields.TIME_ORDER, f"{back:.0f} s back")
    header = _header_of(headers, branch.path[0])
    _mark_unanswered(steps, findings)
    _make_ids_unique(steps, findings)
    leaf = f"{branch.leaf.id}/{index}"
    return CleanBranch(
        trajectory_id=digest(ref.source_id, leaf),
        branch=number,
        session_id=(header.session_id if header is not None else None) or ref.session_id or ref.source_id,
        parent_session=header.parent_session if header is not None else None,
        steps=steps,
        class_=_class(own, turns, gap=index == 0 and _begins_in_a_gap(branch.path[0], findings), final=final),
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        places={entry.position for entry in branch.path},
    )


def _begins_in_a_gap(root: Entry, findings: Findings) -> bool:
    return root.stated_parent is not None and findings.has(root, structure.HEAD_GAP)


def _header_of(headers: list[Header], root: Entry) -> Header | None:
    """The header before a root, else the first one."""
    before = [header for header in headers if header.position < root.position]
    return before[-1] if before else (headers[0] if headers else None)


def _mark_unanswered(steps: list[Step], findings: Findings) -> None:
    """State calls without a result, and end the messages before the first turn that has one."""
    cut = False
    for step in steps:
        open_calls = [call for call in step.calls if call.result is None]
        for call in open_calls:
            findings.add(step.at, pairing.UNANSWERED, f"{call.name} {call.stated_id}"[:160])
        if open_calls and step.spoken and not cut:
            cut = True
            findings.add(step.at, pairing.CUT, f"{len(open_calls)} of {len(step.calls)} calls unanswered")
        if cut:
            step.spoken = False


def _make_ids_unique(steps: list[Step], findings: Findings) -> None:
    used: Counter[str] = Counter()
    for step in steps:
        for call in step.calls:
            used[call.stated_id] += 1
            if used[call.stated_id] > 1:
                call.id = f"{call.stated_id}__{used[call.stated_id]}"
                findings.add(step.at, pairing.ID_REPEATED, f"{call.stated_id} became {call.id}"[:200])
            if call.result is not None:
                call.result.tool_call_id = call.id


def _class(steps: list[Step], turns: Turns, *, gap: bool, final: bool) -> str:
    """How the conversation ended, by the last thing said in it; one whose beginning is missing is never normal.

    A window that a compaction or reset ended in the middle of the work (not `final`) was not aborted: it goes on.
    """
    answers = [step for step in steps if step.role == "assistant"]
    if not answers:
        if turns.heartbeats and not steps:
            return "heartbeat_only"
        return {"error": "failed", "aborted": "aborted"}.get(turns.last, "empty")
    if any(
        call.result is None for step in answers for call in step.calls if step.stop_reason not in ("error", "aborted")
    ):
        return "unanswered"
    last = {"error": "failed", "aborted": "aborted", "length": "truncated", "tool": "aborted", "user": "aborted"}
    if not final and turns.last in ("tool", "user"):
        return "compacted"
    return last.get(turns.last, "incomplete" if gap else "normal")
