"""`python -m clawgym_dag.serve ui|dashboard`: the two web pages, started on a port that is looked at first.

Belongs here: starting servers. Does not belong here: what they show.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from pathlib import Path

import lake
from clawgym_dag.instance import dagster_home
from lake.errors import ClawGymError, SetupError

ROOT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"


def require_free(port: int, variable: str) -> None:
    """Refuse a port somebody listens on.

    Raises:
        SetupError: it is in use; the message says how to take another.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise SetupError(
                f"port {port} cannot be used ({error.strerror}); take another: {variable}={port + 1}"
            ) from error


def ui_command(port: int) -> list[str]:
    """Command line of Dagster's UI."""
    return [sys.executable, "-m", "dagster", "dev", "-m", "clawgym_dag", "-h", HOST, "-p", str(port)]


def dashboard_command(port: int) -> list[str]:
    """Command line of the dashboard."""
    options = {
        "server.port": str(port),
        "server.address": HOST,
        "server.headless": "true",
        "browser.gatherUsageStats": "false",
    }
    page = str(ROOT / "dashboards" / "app.py")
    return [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        page,
        *(part for k, v in options.items() for part in (f"--{k}", v)),
    ]


def main(arguments: list[str] | None = None) -> int:
    """Start one of them in place of this process."""
    parser = argparse.ArgumentParser(prog="python -m clawgym_dag.serve", description=__doc__)
    parser.add_argument("page", choices=["ui", "dashboard"])
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args(arguments)
    try:
        require_free(options.port, "PORT_UI" if options.page == "ui" else "PORT_DASHBOARD")
        opened = lake.open()
        home = dagster_home(opened)
    except ClawGymError as error:
        print(f"clawgym: {error}", file=sys.stderr)
        return error.exit_code
    command = ui_command(options.port) if options.page == "ui" else dashboard_command(options.port)
    env = {
        **os.environ,
        "CLAWGYM_LAKE": str(opened.root),
        "DAGSTER_HOME": str(home),
        "DAGSTER_DISABLE_TELEMETRY": "yes",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    print(
        f"clawgym: {options.page} of the lake {opened.root} on http://{HOST}:{options.port} (Ctrl-C ends it)",
        flush=True,
    )
    os.chdir(ROOT)
    os.execve(command[0], command, env)


if __name__ == "__main__":
    raise SystemExit(main())
