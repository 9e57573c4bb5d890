"""`python -m dashboards`: serve the pages on this machine.

Belongs here: address, port and settings of the server. Does not belong here: anything shown.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from dashboards.gate import TOKEN
from lake.environment import load_environment
from lake.errors import ClawGymError, SetupError, UsageError
from lake.network import SHORTEST_TOKEN, is_loopback

APP = Path(__file__).with_name("guarded.py")

SETTINGS = {
    "server.headless": "true",
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",
    "client.toolbarMode": "minimal",
    "runner.magicEnabled": "false",
    "theme.base": "light",
    "theme.primaryColor": "#2563a8",
    "theme.backgroundColor": "#ffffff",
    "theme.secondaryBackgroundColor": "#f4f6f9",
    "theme.textColor": "#1e293b",
    "theme.borderColor": "#dde3ea",
    "theme.baseRadius": "small",
    "theme.baseFontSize": "15",
    "theme.paddingTop": "2.5rem",
    "theme.headingFontSizes": '["1.9rem", "1.35rem", "1.1rem"]',
    "theme.chartCategoricalColors": '["#2563a8", "#0f8b8d", "#c77d1e", "#b4465a", "#6b5ca5", "#5f7c3a"]',
    "theme.metricValueFontSize": "1.7rem",
    "theme.showWidgetBorder": "true",
}
"""Settings of Streamlit. Nothing is sent anywhere; nothing reloads by itself."""


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m dashboards", description="Serve the pages of the lake.")
    parser.add_argument("--port", type=int, default=8501, help="port (default 8501)")
    parser.add_argument("--host", default="127.0.0.1", help=f"address; other than loopback needs {TOKEN}")
    parser.add_argument("--lake", help="the lake's folder; CLAWGYM_LAKE, else ./data/lake, where not given")
    return parser.parse_args(arguments)


def check(host: str, port: int) -> None:
    """Refuse an open address without a token, and a port that is taken.

    Raises:
        UsageError: the address is not loopback and there is no token.
        SetupError: the port is in use or may not be used.
    """
    if not is_loopback(host) and len(os.environ.get(TOKEN, "")) < SHORTEST_TOKEN:
        raise UsageError(
            f"{host} can be reached from other machines: set {TOKEN} (at least {SHORTEST_TOKEN} characters) "
            "and visitors will be asked for it, or leave --host away"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            raise SetupError(
                f"port {port} on {host} cannot be used ({error}); stop what uses it or choose another with --port"
            ) from error


def command(host: str, port: int) -> list[str]:
    """The command that serves the pages."""
    settings = {**SETTINGS, "server.address": host, "server.port": str(port)}
    return [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        str(APP),
        *(f"--{name}={value}" for name, value in settings.items()),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, then become the server; returns only when that fails."""
    options = parse(arguments)
    load_environment()
    if options.lake:
        os.environ["CLAWGYM_LAKE"] = str(Path(options.lake).absolute())
    try:
        check(options.host, options.port)
    except ClawGymError as error:
        print(f"clawgym: {error}", file=sys.stderr)
        return error.exit_code
    root = str(APP.parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    print(f"ClawGym pages: http://{options.host}:{options.port}  (Ctrl-C ends)", flush=True)
    os.execv(sys.executable, command(options.host, options.port))


if __name__ == "__main__":
    sys.exit(main())
