"""`python -m dashboards`: what is refused, in one line, before anything is served."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dashboards import __main__ as serve
from lake.errors import SetupError, UsageError
from lake.network import is_loopback


def start(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dashboards", *arguments]
    env = {**os.environ, **environment}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_a_taken_port_is_one_plain_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = start("--port", str(port))
    assert done.returncode == SetupError.exit_code
    assert done.stderr.count("\n") == 1
    assert f"port {port} on 127.0.0.1" in done.stderr and "--port" in done.stderr


@pytest.mark.parametrize("token", ["", "short"])
def test_an_open_address_needs_a_token(token: str) -> None:
    done = start("--host", "0.0.0.0", CLAWGYM_DASHBOARD_TOKEN=token)
    assert done.returncode == UsageError.exit_code
    assert done.stderr.count("\n") == 1 and "CLAWGYM_DASHBOARD_TOKEN" in done.stderr


def test_an_open_address_with_a_token_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWGYM_DASHBOARD_TOKEN", "sixteen-or-more-signs")
    serve.check("0.0.0.0", 0)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("example.org", False),
    ],
)
def test_loopback_is_recognised(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_an_impossible_port_is_refused() -> None:
    with pytest.raises(SetupError, match="70000"):
        serve.check("127.0.0.1", 70000)


def test_nothing_is_sent_anywhere_and_no_script_of_ours_is_a_module_name_in_use() -> None:
    assert serve.SETTINGS["browser.gatherUsageStats"] == "false"
    folder = Path(serve.__file__).parent
    names = {path.stem for path in folder.glob("*.py")} | {path.name for path in folder.iterdir() if path.is_dir()}
    assert not names & {"lake", "sql", "assets", "training", "clawgym_dag", "dashboards", "tests", "pages"}
    assert not names & set(sys.stdlib_module_names)
