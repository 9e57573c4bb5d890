"""The sensor `new_logs`: asks for `ingest_logs` when a log in a watched place is new, has grown or was rewritten.

Belongs here: noticing that, from names, sizes and times alone. Does not belong here: which files are logs, or which of
their records are new; ingest decides that by their bytes, so that a request too many costs time and nothing else.
"""

# No `from __future__ import annotations` here: Dagster reads the annotations of decorated functions as objects.

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import dagster as dg

from clawgym_dag.resources import ProfileResource
from lake.ids import digest

Stamp = tuple[str, int, int]
"""Path, size (bytes) and modification time (ns) of a file."""

SENSOR: Final = "new_logs"
_EVERY_S: Final = 60
_NOT_CONTENT: Final = "-shm"
"""Index of a database's write-ahead log: readers write it too."""


@dg.sensor(
    name=SENSOR,
    job_name="ingest_logs",
    minimum_interval_seconds=_EVERY_S,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Asks for `ingest_logs` when a log in `CLAWGYM_LOGS` or the profile's `logs.paths` is new or grew.",
)
def new_logs(context: dg.SensorEvaluationContext, profile: ProfileResource) -> dg.SensorResult | dg.SkipReason:
    """One request for each state of the watched places that differs from the one before."""
    paths = [Path(path).expanduser().absolute() for path in profile.profile.logs.paths]
    if not paths:
        return dg.SkipReason("no place is watched: set CLAWGYM_LOGS, or logs.paths in the profile")
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        return dg.SkipReason(f"{', '.join(missing)} does not exist; make it, or take it off CLAWGYM_LOGS or logs.paths")
    files = list(stamps(paths))
    if not files:
        return dg.SkipReason(f"no file under {', '.join(map(str, paths))}")
    state = state_of(files)
    if state == context.cursor:
        return dg.SkipReason(f"nothing new in {len(files)} files")
    return dg.SensorResult(run_requests=[dg.RunRequest(run_key=state)], cursor=state)


def state_of(files: Sequence[Stamp]) -> str:
    """Digest of a listing: the cursor and the run key, so that a state is asked for once even if the cursor is lost."""
    return digest(SENSOR, [list(stamp) for stamp in files])


def stamps(paths: Sequence[Path]) -> Iterator[Stamp]:
    """Files under the paths in name order; follows no link to a folder, as the walk of ingest does not.

    What vanishes or cannot be read is left out: its return is a change like any other.
    """
    for path in paths:
        if path.is_file():
            yield from _stamp(path)
        for folder, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                yield from _stamp(Path(folder, name))


def _stamp(path: Path) -> Iterator[Stamp]:
    with suppress(OSError):
        found = path.stat()
        if stat.S_ISREG(found.st_mode) and not path.name.endswith(_NOT_CONTENT):
            yield str(path), found.st_size, found.st_mtime_ns


SENSORS: Final = [new_logs]
"""Every sensor."""
