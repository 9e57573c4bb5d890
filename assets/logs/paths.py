"""Ingest of users' own logs: files, folders, whole `.openclaw` trees.

Belongs here: going over paths and saying what was taken and what was left. One source is `ingest`'s business.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

from assets.logs.ingest import Ingest, Taken
from assets.logs.reader import Source, shown
from assets.logs.walk import Found
from assets.stage import Context
from lake.errors import SourceError


def ingest_paths(context: Context, paths: Iterable[Path | str]) -> Mapping[str, int]:
    """Take every log under the paths into the lake, once; commits.

    Says through `context.progress` what it took and, with the reason, what it left: each file with its number among
    those said so far (`done`), then the totals, without.

    Returns:
        Counts: sources new, grown, changed, copies, unchanged; records; left.

    Raises:
        SourceError: a path does not exist, or an agent database is there and cannot be read. What can be read is
            in the lake by then.
    """
    counts: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    records: Counter[str] = Counter()

    numbers = count(1)

    def say(source: Source, taken: Taken) -> None:
        records[source.kind] += taken.appended
        if taken.appended:
            line = f"{source.kind} {source.path}: {taken.appended} new records"
            context.progress(shown(line), next(numbers))

    with closing(Ingest(context)) as ingest:

        def is_in(path: str, file: io.FileIO) -> bool:
            kind = ingest.is_in(path, file)
            if kind is not None:
                sources[kind] += 1
            return kind is not None

        found = Found(is_in)
        for path in paths:
            for source in found.sources(Path(path).expanduser().absolute()):
                sources[source.kind] += 1
                with _others_go_on(found):
                    ingest.take(source, then=say, content=found.content(source))
        with _others_go_on(found):
            ingest.flush()
        counts.update(ingest.counts)
    context.lake.commit()
    for left in found.left:
        context.progress(shown(f"left {left.path}: {left.reason}"), next(numbers))
    for line in _summary(sources, records, found):
        context.progress(shown(line))
    counts["left"] += len(found.left)
    if found.broken:
        raise SourceError(shown("; ".join(str(error) for error in found.broken)))
    return dict(counts)


@contextmanager
def _others_go_on(found: Found) -> Iterator[None]:
    """A source that breaks off while it is read leaves the others as they are, and is stated at the end."""
    try:
        yield
    except SourceError as error:
        found.broken.append(error)


def _summary(sources: Counter[str], records: Counter[str], found: Found) -> list[str]:
    """What was there by kind, and what was left by reason: the last lines, to be read at a glance."""
    lines = [f"{kind}: {count} sources, {records[kind]} new records" for kind, count in sorted(sources.items())]
    reasons = Counter(left.reason.split(": ")[0] for left in found.left)
    lines += [f"left {count}: {reason}" for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item))]
    return lines
