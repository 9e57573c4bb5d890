"""Where Dagster keeps its runs: beside the lake they belong to, with telemetry off.

Belongs here: `DAGSTER_HOME`. Does not belong here: what runs.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from lake import Lake

if TYPE_CHECKING:
    import dagster as dg

SETTINGS = Path(__file__).resolve().parent.parent / "dagster.yaml"


def dagster_home(lake: Lake) -> Path:
    """`DAGSTER_HOME` where set, which is the user's, else `<lake>/dagster` with our settings."""
    chosen = os.environ.get("DAGSTER_HOME")
    home = Path(chosen).expanduser().absolute() if chosen else lake.root / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    if not chosen or not (home / "dagster.yaml").exists():
        shutil.copyfile(SETTINGS, home / "dagster.yaml")
    return home


def open_instance(lake: Lake) -> dg.DagsterInstance:
    """The Dagster instance of a lake."""
    import dagster as dg

    os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "yes")
    return dg.DagsterInstance.from_config(str(dagster_home(lake)))
