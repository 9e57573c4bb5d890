"""Import and export of published tasks, over the log.

Belongs here: which tasks are new, the events, the check that a task can be written back, the files of an export. Does
not belong here: what a format looks like (a module each).
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from assets.stage import Progress, quiet
from assets.tasks.exchange.contract import File, Format, Imported, Refused, RefusedError, Source, Stored, slug
from assets.tasks.exchange.facts import defect
from assets.tasks.projection import load_bundles
from assets.tasks.propose import PROPOSED, STREAM, propose
from lake import Lake
from lake.errors import UsageError
from lake.ids import sha256_hex

_SPLIT: Final = re.compile(r"^(train|validation|test|bench:[\w.-]+)$")
_BATCH: Final = 200
"""Tasks between two points at which the committer may take what was read."""
_LICENCES: Final = {
    "Apache-2.0": "Apache License", "MIT": "MIT License", "CC-BY-4.0": "Attribution 4.0 International",
    "BSD-3-Clause": "Redistribution and use in source and binary forms",
}  # fmt: skip


@dataclass
class ImportReport:
    """What an import did."""

    read: int = 0
    proposed: int = 0
    found: int = 0
    """In the log already, in this very version."""
    refused: list[Refused] = field(default_factory=list)
    defects: Counter[str] = field(default_factory=Counter)
    """Tasks by name of a known defect."""
    protocols: Counter[str] = field(default_factory=Counter)


@dataclass
class Exported:
    """What an export did."""

    tasks: int = 0
    files: int = 0
    refused: list[Refused] = field(default_factory=list)


def import_tasks(
    lake: Lake,
    path: Path,
    form: Format,
    *,
    collection: str | None = None,
    licence: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    run_id: str | None = None,
    progress: Progress = quiet,
) -> ImportReport:
    """State `task.proposed` for each task at a path whose very version the log does not hold.

    Each task is written back in memory first; where that does not give its files byte for byte, it is imported with the
    defect `not_loss_free` and what differs.

    Args:
        collection: name of the set, the beginning of each task_id; that of the folder or file where null.
        licence: of the tasks; that of a LICENSE file in or up to three folders above where null, else `unknown`.
        split: where accepted ones go (train, validation, test, bench:<suite>); by their ids where null.
        limit: tasks read.

    Raises:
        UsageError: there is no such split.
    """
    if split is not None and not _SPLIT.match(split):
        raise UsageError(f"split {split!r} is unknown; there are train, validation, test and bench:<suite>")
    source = Source(
        path, slug(collection or path.absolute().name.removesuffix(path.suffix)), licence or licence_near(path)
    )
    known = lake.streams(STREAM, (PROPOSED,))
    report = ImportReport()
    spool = lake.spool("tasks.import", run_id)
    try:
        for item in _first(form.read(source), limit):
            report.read += 1
            progress(f"import {path.name}", report.read, limit)
            if isinstance(item, Refused):
                report.refused.append(item)
                continue
            item = _checked(form, item, {"collection": source.collection, "split": split})
            bundle = item.bundle
            report.protocols[bundle.verifier_protocol] += 1
            report.defects.update({entry["name"] for entry in bundle.extra["defects"]})
            if f"{bundle.task_id}@{bundle.task_version}" in known:
                report.found += 1
                continue
            for content in item.blobs:
                spool.put_blob(content)
            propose(spool, bundle)
            known.add(f"{bundle.task_id}@{bundle.task_version}")
            report.proposed += 1
            if report.proposed % _BATCH == 0:
                spool.seal()
                lake.commit()
    finally:
        spool.close()
    lake.commit()
    return report


def export_tasks(
    lake: Lake,
    target: Path,
    form: Format,
    *,
    task_ids: Collection[str] | None = None,
    collection: str | None = None,
    progress: Progress = quiet,
) -> Exported:
    """Write tasks (the latest version of each) below a new or empty folder.

    Args:
        task_ids: only these; all where null.
        collection: only what was imported under this name; all where null.

    Raises:
        UsageError: the folder is not empty, or no such task is in the lake.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is not an empty folder; give a new one")
    report, owner = Exported(), dict[str, str]()
    chosen = latest(lake, task_ids, collection)
    for number, stored in enumerate(stored_tasks(lake, chosen), 1):
        progress(f"export {form.name}", number, len(chosen))
        task_id = stored.bundle.task_id
        try:
            files = form.write(stored)
            clash = next((p for p in files if not form.appends and owner.get(p, task_id) != task_id), None)
            if clash is not None and (target / clash).read_bytes() != files[clash].data:
                raise RefusedError(f"the task {owner[clash]} has another file {clash}; export the sets one by one")
        except RefusedError as error:
            report.refused.append(Refused(task_id, str(error)))
            continue
        for path, file in files.items():
            _put(target / path, file, append=form.appends)
            owner[path] = task_id
        report.tasks += 1
        report.files += len(files)
    return report


def latest(lake: Lake, task_ids: Collection[str] | None, collection: str | None = None) -> list[dict[str, Any]]:
    """Rows of `tasks`: of each task the version proposed last, in the order they were first proposed.

    Raises:
        UsageError: a task, or the collection, is not in the lake.
    """
    rows = {row["event_id"]: row for row in lake.rows("tasks")}
    newest: dict[str, dict[str, Any]] = {}
    for event in sorted(lake.events(PROPOSED), key=lambda event: (event.occurred_at, event.stream_id)):
        within = collection is None or (event.payload.get("extra") or {}).get("collection") == collection
        if event.event_id in rows and within:
            newest[event.payload["task_id"]] = rows[event.event_id]
    missing = sorted(set(task_ids or ()) - set(newest))
    if missing:
        raise UsageError(f"task {missing[0]!r} is not in the lake; `clawgym tasks list` shows which are")
    if collection is not None and not newest:
        raise UsageError(f"no task was imported as {collection!r}; `clawgym tasks import --as NAME` gives the name")
    return [row for task_id, row in newest.items() if task_ids is None or task_id in task_ids]


def stored_tasks(lake: Lake, rows: Sequence[Mapping[str, Any]]) -> Iterator[Stored]:
    """Tasks as the lake has them, with what their import kept."""
    wanted = {row["event_id"] for row in rows}
    extras = {e.event_id: e.payload.get("extra") or {} for e in lake.events(PROPOSED) if e.event_id in wanted}
    for row, bundle in zip(rows, load_bundles(lake, rows), strict=True):
        extra = extras[row["event_id"]]
        kept = extra.get("stored", ())
        yield Stored(replace(bundle, extra=extra), lake.blobs(kept) if kept else {})


def licence_near(path: Path) -> str:
    """Licence named by the nearest LICENSE file, at most three folders up; `unknown` where there is none."""
    folder = path.absolute() if path.is_dir() else path.absolute().parent
    for place in (folder, *folder.parents[:3]):
        for name in ("LICENSE", "LICENSE.txt", "LICENSE.md", "COPYING"):
            if (place / name).is_file():
                head = (place / name).read_text("utf-8", "replace")[:2000]
                return next((spdx for spdx, words in _LICENCES.items() if words in head), "unknown")
    return "unknown"


def _checked(form: Format, item: Imported, more: Mapping[str, Any]) -> Imported:
    """The task, with what is said of its set, and a defect where it cannot be written back byte for byte."""
    blobs = {sha256_hex(content): content for content in item.blobs}
    again = form.write(Stored(_through_json(item), blobs))
    extra = {**item.bundle.extra, **more, "stored": sorted(blobs)}
    differing = sorted(p for p in item.files.keys() | again.keys() if item.files.get(p) != again.get(p))
    if differing:
        extra["defects"] = [*extra["defects"], defect("not_loss_free", f"written back, {differing[0]} differs")]
    return replace(item, bundle=replace(item.bundle, extra=extra))


def _through_json(item: Imported) -> Any:
    """The bundle with its extra as the log will give it back."""
    return replace(item.bundle, extra=json.loads(json.dumps(item.bundle.extra)))


def _first(items: Iterator[Imported | Refused], limit: int | None) -> Iterator[Imported | Refused]:
    for number, item in enumerate(items):
        if limit is not None and number >= limit:
            return
        yield item


def _put(path: Path, file: File, *, append: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab" if append else "wb") as target:
        target.write(file.data)
    if file.executable:
        os.chmod(path, 0o755)  # noqa: PTH101


def stated_splits(lake: Lake) -> dict[str, str]:
    """Split by task_id, of imported tasks whose import said where they belong."""
    found = {}
    for event in lake.events(PROPOSED):
        split = (event.payload.get("extra") or {}).get("split")
        if split is not None:
            found[event.payload["task_id"]] = split
    return found
