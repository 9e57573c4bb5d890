"""Ingest of our own attempts: the state, the proxy's log and the harness's output of each attempt that is over.

An attempt's folder is durable until its logs are in the lake. It is removed only after the commit, and only when what
the lake gives back has the same bytes. Does not belong here: running attempts (`rollouts`).
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from assets.logs.catalogue import ROW_KINDS, stream_of
from assets.logs.ingest import Ingest, Taken
from assets.logs.reader import Source
from assets.logs.readers.database import DATABASE_NAME, DatabaseReader
from assets.logs.readers.streams import FileSource, WholeFile
from assets.stage import Context
from lake import Lake
from lake.errors import SourceError


@dataclass(frozen=True)
class _Harvest:
    attempt_id: str
    folder: Path
    taken: list[tuple[Source, Taken]]
    """Complete once the ingest is flushed."""


def ingest_attempts(context: Context) -> Mapping[str, int]:
    """Take the logs of every attempt that ended or was lost and whose folder is still there; commits.

    Returns:
        Counts: attempts (folders done), running (left alone), unreadable (kept, said why), records.
    """
    root = context.lake.root / "attempts"
    over = context.lake.streams("attempt", ("attempt.ended", "attempt.lost"))
    folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.exists() else []
    counts: Counter[str] = Counter(running=sum(folder.name not in over for folder in folders))
    harvests: list[_Harvest] = []
    with closing(Ingest(context)) as ingest:
        for done, folder in enumerate(f for f in folders if f.name in over):
            try:
                harvests.append(_harvest(ingest, folder))
            except SourceError as error:
                counts["unreadable"] += 1
                context.progress(f"attempt {folder.name} keeps its folder: {error}")
            context.progress(f"logs of attempt {folder.name}", done + 1, len(folders))
        ingest.flush()
        counts.update(ingest.counts)
    context.lake.commit()
    for harvest in harvests:
        if _verified(context.lake, harvest):
            shutil.rmtree(harvest.folder)
            counts["attempts"] += 1
        else:
            counts["unreadable"] += 1
            context.progress(f"attempt {harvest.attempt_id} keeps its folder: the lake gives back other bytes")
    return dict(counts)


def _harvest(ingest: Ingest, folder: Path) -> _Harvest:
    taken: list[tuple[Source, Taken]] = []
    for source in _sources(folder):
        ingest.take(source, folder.name, lambda source, result: taken.append((source, result)))
    return _Harvest(folder.name, folder, taken)


def _sources(folder: Path) -> Iterator[Source]:
    for database in sorted(folder.glob(f"state/agents/*/agent/{DATABASE_NAME}")):
        with database.open("rb") as file:
            head = file.read(64)
        yield from DatabaseReader().sources(database, head) or []
    proxy = folder / "proxy.jsonl"
    if proxy.is_file():
        yield FileSource("proxy.call", str(proxy), None, folder.name)
    for name in ("stdout.json", "stderr.txt"):
        output = folder / name
        if output.is_file():
            kind = "openclaw." + output.stem
            yield WholeFile(kind, str(output), None, f"{folder.name}/{name}")


def _verified(lake: Lake, harvest: _Harvest) -> bool:
    """Whether the lake gives back the bytes of every source of the folder."""
    for source, taken in harvest.taken:
        hasher = hashlib.sha256()
        version = taken.version
        for raw, newline in stream_of(lake, version.source_id, version.version, source.kind):
            hasher.update(raw)
            if newline:
                hasher.update(b"\n")
        if source.kind not in ROW_KINDS and not version.open_tail:
            hasher.update(b"\n")
        if hasher.hexdigest() != version.sha256:
            return False
    return True
