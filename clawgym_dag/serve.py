"""`python -m clawgym_dag.serve`: Dagster's UI for a lake, on a port that is looked at first.

Belongs here: starting it. Does not belong here: what it shows (`definitions`), the pages (`python -m dashboards`).
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from pathlib import Path

import lake
from clawgym_dag.instance import dagster_home
from lake.environment import load_environment
from lake.errors import ClawGymError, SetupError

ROOT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"


def require_free(port: int, advice: str) -> None:
    """Refuse a port somebody listens on.

    Args:
        advice: how to take another one; the end of the message.

    Raises:
        SetupError: it is in use.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise SetupError(f"port {port} cannot be used ({error}); {advice}") from error


def command(port: int) -> list[str]:
    """Command line of Dagster's UI."""
    return [sys.executable, "-m", "clawgym_dag.guarded", "dev", "-m", "clawgym_dag", "-h", HOST, "-p", str(port)]


def main(arguments: list[str] | None = None) -> int:
    """Check, then become the server; returns only when that fails."""
    parser = argparse.ArgumentParser(prog="python -m clawgym_dag.serve", description="Dagster's UI for a lake.")
    parser.add_argument("--port", type=int, default=3000, help="port (default 3000)")
    options = parser.parse_args(arguments)
    load_environment()
    try:
        require_free(options.port, f"take another: make ui PORT_UI={options.port + 1}")
        opened = lake.open()
        home = dagster_home(opened)
    except ClawGymError as error:
        print(f"clawgym: {error}", file=sys.stderr)
        return error.exit_code
    env = {
        **os.environ,
        "CLAWGYM_LAKE": str(opened.root),
        "DAGSTER_HOME": str(home),
        "DAGSTER_DISABLE_TELEMETRY": "yes",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
    }
    print(f"Dagster for {opened.root}: http://{HOST}:{options.port}  (Ctrl-C ends)", flush=True)
    # Dagster ends its own processes with SIGINT, which a script ignores for what it starts in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(ROOT)
    os.execve(sys.executable, command(options.port), env)


if __name__ == "__main__":
    sys.exit(main())
