"""The peers on the same files: each installed into an environment of its own, run by it, judged as we are.

Belongs here: environments, the exchange with the runners, parts to events. Does not belong here: judging (`score`).
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.conformance.case import Case, Outcome, call_event, text_event

ROOT: Final = Path(__file__).parents[2]
ENVIRONMENTS: Final = ROOT / ".cache" / "peers"
"""Ignored by git; made once for each version of each peer."""
_INSTALL_S: Final = 900
_RUN_S: Final = 300


@dataclass(frozen=True)
class Peer:
    """Another reader of OpenClaw sessions."""

    name: str
    """As in the results."""
    package: str
    version: str
    python: tuple[int, int]
    """Least version of Python."""

    @property
    def runner(self) -> Path:
        """Its script."""
        return Path(__file__).parent / "runners" / f"{self.name}.py"


PEERS: Final = (
    Peer("agent_trajectory", "agent-trajectory", "0.4.3", (3, 11)),
    Peer("harbor", "harbor", "0.26.0", (3, 12)),
)


class PeerUnavailableError(Exception):
    """A peer that cannot be installed or run here; the text says why."""


def interpreter(peer: Peer) -> Path:
    """The Python of the peer's environment, which is made where it is not there yet.

    Raises:
        PeerUnavailableError: no Python of that version here, or the installation failed.
    """
    folder = ENVIRONMENTS / f"{peer.package}-{peer.version}"
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    base = _base(peer.python)
    if base is None:
        raise PeerUnavailableError(
            f"needs Python {'.'.join(map(str, peer.python))} or later, which is not on this machine"
        )
    for command in (
        [base, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", f"{peer.package}=={peer.version}"],
    ):
        _checked(command, _INSTALL_S)
    (folder / "complete").touch()
    return python


def _base(least: tuple[int, int]) -> str | None:
    """A Python of at least that version: this one, one on the path, or one of pyenv's."""
    if sys.version_info[:2] >= least:
        return sys.executable
    names = [f"python3.{minor}" for minor in range(15, least[1] - 1, -1)]
    pyenv = sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3"), reverse=True)
    for candidate in [*filter(None, map(shutil.which, names)), *map(str, pyenv)]:
        asked = subprocess.run(
            [candidate, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=False
        )
        if asked.returncode == 0 and tuple(map(int, asked.stdout.split())) >= least:
            return candidate
    return None


def run(peer: Peer, cases: Iterable[Case]) -> dict[str, Outcome]:
    """What a peer makes of each case.

    Raises:
        PeerUnavailableError: it cannot be installed, or its runner failed as a whole.
    """
    python = interpreter(peer)
    sent = {
        case.name: {name: base64.b64encode(data).decode() for name, data in case.expected.files.items()}
        for case in cases
    }
    done = _checked([str(python), "-P", str(peer.runner)], _RUN_S, json.dumps(sent))
    return {name: outcome(found) for name, found in json.loads(done).items()}


def _checked(command: Sequence[str], limit_s: float, text: str | None = None) -> str:
    env = {**os.environ, "HARBOR_TELEMETRY": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=limit_s, check=False, env=env
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerUnavailableError(_said(command, type(error).__name__)) from error
    if done.returncode != 0:
        raise PeerUnavailableError(_said(command, done.stderr.strip()[-300:]))
    return done.stdout


def _said(command: Sequence[str], words: str) -> str:
    """What went wrong, in one line without this machine's paths."""
    return " ".join(f"{' '.join(command[:5])}: {words}".replace(f"{ROOT}/", "").split())


def outcome(found: dict[str, Any]) -> Outcome:
    """A runner's answer for one case as an outcome."""
    trajectories: list[list[dict[str, Any]]] = found["trajectories"]
    answers = [part for parts in trajectories for part in parts if "tokens" in part]
    return Outcome(
        views=[view(parts) for parts in trajectories],
        stated=[(line, str(word)) for line, word in found["stated"]],
        error=found["error"],
        tokens=[None if part["tokens"] is None else (part["tokens"][0], part["tokens"][1]) for part in answers],
        models=[str(part["model"]) for part in answers],
        failed=[bool(part.get("failed")) for parts in trajectories for part in parts if part["kind"] == "result"],
    )


def view(parts: Sequence[dict[str, Any]]) -> list[str]:
    """Parts as events; a result belongs to the latest call of its id before it."""
    events: list[str] = []
    numbers: dict[str, int] = {}
    calls = 0
    for part in parts:
        if part["kind"] == "call":
            numbers[part["id"]] = calls
            events.append(call_event(calls, part["name"], part["arguments"]))
            calls += 1
        elif part["kind"] == "result":
            number = numbers.get(part["id"])
            events.append(text_event(f"result {'of no call' if number is None else number}", part["text"]))
        elif part["text"] or part["kind"] == "user":
            events.append(text_event(part["kind"], part["text"]))
    return events
