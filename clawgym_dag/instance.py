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
    """`DAGSTER_HOME` where set, else `<lake>/dagster`, made with our settings where there is nothing."""
    home = Path(os.environ.get("DAGSTER_HOME") or lake.root / "dagster").expanduser().absolute()
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "dagster.yaml").exists():
        shutil.copyfile(SETTINGS, home / "dagster.yaml")
    return home


def open_instance(lake: Lake) -> dg.DagsterInstance:
    """The Dagster instance of a lake."""
    import dagster as dg

    os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "yes")
    return dg.DagsterInstance.from_config(str(dagster_home(lake)))
