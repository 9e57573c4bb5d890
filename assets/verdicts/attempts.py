"""What there is to grade: attempts that came to an end, as the log states them.

Belongs here: reading attempts and their frozen workspaces back from events and blobs. Does not belong here: grading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assets.sandbox.folder import FileEntry, restore, workspace_id_of
from lake import Event, Lake
from lake.errors import LakeError

PLANNED, ENDED, LOST = "attempt.planned", "attempt.ended", "attempt.lost"


@dataclass(frozen=True)
class EndedAttempt:
    """One attempt after its end."""

    attempt_id: str
    task_id: str
    task_version: str
    ending: str
    ending_kind: str
    """agent | infrastructure."""
    ending_detail: str | None
    workspace_id: str | None
    files: tuple[FileEntry, ...]
    """The final manifest, without contents."""
    event_id: str

    @property
    def not_gradable(self) -> str | None:
        """Why there is nothing to grade, or null."""
        if self.ending_kind != "agent":
            why = f": {self.ending_detail}" if self.ending_detail else ""
            return f"ended by infrastructure ({self.ending}){why}"
        return None if self.workspace_id is not None else "the agent ended but no final workspace was frozen"

    @property
    def left_out(self) -> int:
        """Files whose content was not kept when the workspace was frozen."""
        return sum(entry.kind == "file" and entry.sha256 is None for entry in self.files)


def ended_attempts(lake: Lake) -> list[EndedAttempt]:
    """Every attempt that ended or was lost, by attempt_id."""
    planned: dict[str, Mapping[str, Any]] = {}
    ends: dict[str, Event] = {}
    for event in lake.events(PLANNED, ENDED, LOST):
        if event.type == PLANNED:
            planned[event.stream_id] = event.payload
        else:
            ends[event.stream_id] = event
    return [_ended(planned[attempt], end) for attempt, end in sorted(ends.items()) if attempt in planned]


def rebuild(lake: Lake, attempt: EndedAttempt, target: Path) -> None:
    """Lay out the final workspace of an attempt below `target`.

    Raises:
        LakeError: the manifest does not give the workspace's id, or a content is not in the log.
        UsageError: the manifest cannot be laid out.
    """
    found = workspace_id_of(attempt.files)
    if found != attempt.workspace_id:
        raise LakeError(
            f"attempt {attempt.attempt_id}: its manifest is of workspace {found}, not {attempt.workspace_id};"
            " run `clawgym lake verify`"
        )
    contents = lake.blobs(entry.sha256 for entry in attempt.files if entry.sha256 is not None)
    restore(attempt.files, target, lambda entry: contents[str(entry.sha256)])


def _ended(planned: Mapping[str, Any], end: Event) -> EndedAttempt:
    lost = end.type == LOST
    payload = end.payload
    return EndedAttempt(
        attempt_id=planned["attempt_id"],
        task_id=planned["task_id"],
        task_version=planned["task_version"],
        ending="lost" if lost else payload["ending"],
        ending_kind="infrastructure" if lost else payload["ending_kind"],
        ending_detail=payload.get("reason") if lost else payload.get("ending_detail"),
        workspace_id=None if lost else payload.get("final_workspace_id"),
        files=() if lost else tuple(_entry(entry) for entry in payload.get("files") or ()),
        event_id=end.event_id,
    )


def _entry(entry: Mapping[str, Any]) -> FileEntry:
    return FileEntry(
        entry["path"], entry["kind"], entry["sha256"], entry["size"], entry["mode"], None, entry.get("note")
    )
