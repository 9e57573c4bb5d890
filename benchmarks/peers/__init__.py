"""Peers in environments of their own: each script here runs there, is given a job and a folder, and measures itself.

Belongs here: installing, calling, what a peer has to say. Does not belong here: our side of a job.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.conformance.peers import Peer, PeerUnavailableError, interpreter
from benchmarks.measure import Cost

AGENT_TRAJECTORY: Final = Peer("agent_trajectory", "agent-trajectory", "0.4.3", (3, 11))
INSPECT_SCOUT: Final = Peer("inspect_scout", "inspect-scout", "0.6.1", (3, 11))
_LIMIT_S: Final = 900


@dataclass(frozen=True)
class Said:
    """What a peer's script measured of itself."""

    cost: Cost
    peak_mb: float
    more: dict[str, Any] = field(default_factory=dict)


def ask(peer: Peer, job: str, *arguments: str | Path) -> Said:
    """Run a job of a peer's script.

    Raises:
        PeerUnavailableError: it cannot be installed here, or it failed.
    """
    script = Path(__file__).parent / f"{peer.name}.py"
    done = subprocess.run(
        [str(interpreter(peer)), "-P", str(script), job, *map(str, arguments)],
        capture_output=True, text=True, timeout=_LIMIT_S, check=False, env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    if done.returncode != 0:
        raise PeerUnavailableError(f"{peer.package} {peer.version} failed at {job}: {done.stderr.strip()[-300:]}")
    said = json.loads(done.stdout.strip().splitlines()[-1])
    return Said(Cost(said.pop("cpu_s"), said.pop("wall_s")), said.pop("peak_mb"), said)


def title(peer: Peer) -> str:
    """Its name and version."""
    return f"{peer.package} {peer.version}"
