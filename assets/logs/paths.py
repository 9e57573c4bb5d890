"""Ingest of users' own logs: files, folders, whole `.openclaw` trees.

Belongs here: going over paths and saying what was taken and what was left. One source is `ingest`'s business.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from assets.logs.ingest import Ingest, Taken
from assets.logs.reader import Source
from assets.logs.walk import Found
from assets.stage import Context
from lake.errors import SourceError


def ingest_paths(context: Context, paths: Iterable[Path | str]) -> Mapping[str, int]:
    """Take every log under the paths into the lake, once; commits.

    Says through `context.progress` what it took and, with the reason, what it left.

    Returns:
        Counts: sources new, grown, changed, copies, unchanged; records; left.

    Raises:
        SourceError: a path does not exist, or an agent database is there and cannot be read. What can be read is
            in the lake by then.
    """
    found = Found()
    counts: Counter[str] = Counter()

    def say(source: Source, taken: Taken) -> None:
        context.progress(f"{source.kind} {source.path}: {taken.appended} new records")

    with closing(Ingest(context)) as ingest:
        for path in paths:
            for source in found.sources(Path(path).expanduser().absolute()):
                ingest.take(source, then=say)
        ingest.flush()
        counts.update(ingest.counts)
    context.lake.commit()
    for left in found.left:
        context.progress(f"left {left.path}: {left.reason}")
    counts["left"] += len(found.left)
    if found.broken:
        raise SourceError("; ".join(str(error) for error in found.broken))
    return dict(counts)
