"""Where checkpoints lie, and one trainer at a time for each.

Belongs here: paths below the lake's `artefacts/`, locks, looking a checkpoint up. Does not belong here: training.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lake import Lake
from lake.errors import StageError, UsageError
from lake.ids import Json


def checkpoint_folder(lake: Lake, checkpoint_id: str) -> Path:
    """Folder of a checkpoint, there or not."""
    return lake.root / "artefacts" / "checkpoints" / checkpoint_id


def find_checkpoint(lake: Lake, name: str) -> dict[str, Json]:
    """Row of the checkpoint called `name`: its id, a prefix of it that is unique, or `latest` (the last one trained).

    Raises:
        UsageError: there is none, or several begin so.
        StageError: its folder is gone.
    """
    rows = sorted(lake.rows("checkpoints"), key=lambda row: (row["created_at"], row["checkpoint_id"]))
    if name == "latest":
        found = [row for row in rows if row["method"] != "init"][-1:]
    else:
        found = [row for row in rows if name and str(row["checkpoint_id"]).startswith(name)]
    if len(found) != 1:
        known = ", ".join(str(row["checkpoint_id"]) for row in rows[-5:]) or "none"
        count = "several checkpoints are" if found else "no checkpoint is"
        raise UsageError(f"{count} called {name!r}; the latest are: {known}; see `clawgym checkpoints list`")
    folder = checkpoint_folder(lake, str(found[0]["checkpoint_id"]))
    if not folder.is_dir():
        raise StageError(f"the folder of checkpoint {found[0]['checkpoint_id']} is gone: {folder}; restore it")
    return found[0]


@contextmanager
def only_trainer(folder: Path) -> Iterator[None]:
    """Hold the checkpoint's lock; a second process waits here and then finds the work done."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(folder.name + ".lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
