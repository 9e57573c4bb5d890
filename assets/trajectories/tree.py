"""Entries to a tree, and to the branches of the conversation; the first is the one the session ended on.

Parents that are nowhere, rings, and mirrors beside the answer they copy are put right here, each with a finding.
Does not belong here: what stands in the entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from assets.trajectories.entries import Entry, Read
from assets.trajectories.findings import Findings
from assets.trajectories.rules import structure

MAX_BRANCHES: Final = 256
"""Branches assembled of one session."""

_EXTRA: Final = ("delivery-mirror", "gateway-injected")
_SPOKEN: Final = frozenset({"message", "compaction", "branch_summary", "custom_message", "reset"})


@dataclass(frozen=True)
class Branch:
    """One way from the first entry to a leaf."""

    leaf: Entry
    path: list[Entry]


def branches(read: Read, findings: Findings) -> list[Branch]:
    """Branches of the conversation, the one the session ended on first, then by their leaves' places."""
    entries = read.entries
    if not entries:
        return []
    by_id = {entry.id: entry for entry in entries}
    if not _set_parents(read, by_id, findings):
        _open_rings(entries, by_id, findings)
    _bridge(entries, by_id)
    final = _final(read, by_id)
    if final is None:
        return []
    leaves = [final]
    path = _path(final, by_id)
    parents = {entry.parent for entry in entries}
    covered = {entry.id for entry in path}
    for entry in entries:
        if entry.id in parents:
            continue
        leaf: Entry | None = entry
        while leaf is not None and (not _speaks(leaf)) and leaf.id not in covered:
            leaf = by_id.get(leaf.parent or "")
        if leaf is None or leaf.id in covered:
            continue
        covered |= _new_on_path(leaf, by_id, covered)
        leaves.append(leaf)
    for leaf in leaves[MAX_BRANCHES:]:
        findings.add(leaf, structure.BRANCH_LIMIT)
    return [Branch(final, path), *(Branch(leaf, _path(leaf, by_id)) for leaf in leaves[1:MAX_BRANCHES])]


def _set_parents(read: Read, by_id: dict[str, Entry], findings: Findings) -> bool:
    """Hang each entry on its parent; whether all parents stand before their children, so that there is no ring."""
    before: Entry | None = None
    seen: set[str | None] = {None}
    ordered = True
    for entry in read.entries:
        stated = entry.stated_parent
        if isinstance(stated, str) and stated in by_id:
            entry.parent = stated
        elif isinstance(stated, str) and stated:
            entry.parent = before.id if before is not None else None
            rule = structure.PARENT_MISSING if before is not None else structure.HEAD_GAP
            findings.add(entry, rule, f"parent {stated}"[:80])
        elif read.linear or "parentId" not in entry.value or stated is not None:
            entry.parent = before.id if before is not None else None
        else:
            entry.parent = None
        ordered = ordered and entry.parent in seen
        seen.add(entry.id)
        before = entry
    return ordered


def _open_rings(entries: list[Entry], by_id: dict[str, Entry], findings: Findings) -> None:
    """Hang the first entry of each ring on the nearest entry before it that does not hang on the ring."""
    done: set[str] = set()
    order = {entry.id: number for number, entry in enumerate(entries)}
    for entry in entries:
        walked: dict[str, None] = {}
        at: Entry | None = entry
        while at is not None and at.id not in done and at.id not in walked:
            walked[at.id] = None
            at = by_id.get(at.parent or "")
        if at is not None and at.id in walked:
            ring = list(walked)[list(walked).index(at.id) :]
            first = min(ring, key=lambda found: order[found])
            earlier = (entries[number] for number in range(order[first] - 1, -1, -1))
            before = next((found for found in earlier if not _hangs_on(found, by_id[first], by_id)), None)
            by_id[first].parent = before.id if before is not None else None
            findings.add(by_id[first], structure.PARENT_CYCLE, f"ring of {len(ring)}")
        done.update(walked)


def is_mirror(entry: Entry) -> bool:
    """Whether an assistant message is a copy of a delivered text."""
    return entry.message.get("model") == "delivery-mirror" and entry.role == "assistant"


def is_injected(entry: Entry) -> bool:
    """Whether an assistant message is a note of the gateway."""
    return entry.message.get("model") == "gateway-injected" and entry.role == "assistant"


def is_extra(entry: Entry) -> bool:
    """Whether an assistant message is no answer of the model: a mirror or a note."""
    return entry.message.get("model") in _EXTRA and entry.role == "assistant"


def _bridge(entries: list[Entry], by_id: dict[str, Entry]) -> None:
    """Hang a mirror or injected note behind the answer it stands beside, so that going on from it loses nothing."""
    if not any(map(is_extra, entries)):
        return
    newest: dict[str | None, Entry] = {}
    for entry in entries:
        if is_extra(entry) and entry.parent in newest:
            answer = newest[entry.parent]
            if answer.role in ("assistant", "toolResult") and not _hangs_on(answer, entry, by_id):
                entry.parent = answer.id
        at: str | None = entry.parent
        newest[at] = entry
        while at is not None and at in by_id and by_id[at].role != "user":
            at = by_id[at].parent
            newest[at] = entry


def _hangs_on(entry: Entry, other: Entry, by_id: dict[str, Entry]) -> bool:
    """Whether one entry is the other or below it; ends on rings that are still closed."""
    walked: set[str] = set()
    at: Entry | None = entry
    while at is not None and at is not other and at.id not in walked:
        walked.add(at.id)
        at = by_id.get(at.parent) if at.parent is not None else None
    return at is other


def _speaks(entry: Entry) -> bool:
    return entry.kind in _SPOKEN and not is_extra(entry)


def _final(read: Read, by_id: dict[str, Entry]) -> Entry | None:
    if read.leaf_target in by_id:
        return by_id[read.leaf_target]
    return next((entry for entry in reversed(read.entries) if _speaks(entry)), read.entries[-1])


def _path(leaf: Entry, by_id: dict[str, Entry]) -> list[Entry]:
    path: list[Entry] = []
    at: Entry | None = leaf
    while at is not None:
        path.append(at)
        at = by_id.get(at.parent) if at.parent is not None else None
    path.reverse()
    return path


def _new_on_path(leaf: Entry, by_id: dict[str, Entry], covered: set[str]) -> set[str]:
    found: set[str] = set()
    at: Entry | None = leaf
    while at is not None and at.id not in covered:
        found.add(at.id)
        at = by_id.get(at.parent) if at.parent is not None else None
    return found
