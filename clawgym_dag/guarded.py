"""`python -m clawgym_dag.guarded dev|webserver …`: Dagster's own commands, its UI behind `lake.network.SameSite`.

Belongs here: putting the guard in front. Does not belong here: the guard, and when Dagster starts (`serve`).

Dagster's UI takes GraphQL by plain GET, any `Host`, and any `Origin` on its WebSocket, and has no setting for that; a
web page open in a browser on this machine could start runs. `dagster dev` starts the UI as a process: that process is
this module.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

from lake.network import SameSite

HOST = "127.0.0.1"
"""The only address the guarded UI listens on."""

_WEBSERVER = ["-m", "dagster_webserver"]


def guarded_parts(parts: Sequence[str]) -> list[str]:
    """A command line that Dagster starts; that of its UI is replaced by one of this module."""
    if list(parts[1:3]) == _WEBSERVER:
        return [parts[0], "-m", "clawgym_dag.guarded", "webserver", *parts[3:]]
    return list(parts)


def run_dev() -> None:
    """`dagster dev`, which starts the guarded UI."""
    dagster: Any = importlib.import_module("dagster._cli")
    dev: Any = importlib.import_module("dagster._cli.dev")
    start = dev.open_ipc_subprocess

    def start_guarded(parts: Sequence[str], **options: Any) -> Any:
        return start(guarded_parts(parts), **options)

    dev.open_ipc_subprocess = start_guarded
    sys.argv.insert(1, "dev")
    dagster.main()


def run_webserver() -> None:
    """`dagster-webserver` with the guard before its application."""
    webserver: Any = importlib.import_module("dagster_webserver.cli")
    create = webserver.create_app_from_workspace_process_context

    def create_guarded(*arguments: Any, **options: Any) -> SameSite:
        return SameSite(create(*arguments, **options), HOST)

    webserver.create_app_from_workspace_process_context = create_guarded
    webserver.main()


if __name__ == "__main__":
    {"dev": run_dev, "webserver": run_webserver}[sys.argv.pop(1)]()
