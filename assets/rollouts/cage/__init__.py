"""The cage: what the agent's process may see and reach while it runs.

Belongs here: the places inside a cage, what is put into one, and the choice of its kind. The inner sandbox of each
command is `shell.sh`. Does not belong here: OpenClaw's own command line, processes (`assets/rollouts/process.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from assets.rollouts.openclaw.install import Installation
from lake.errors import UsageError

BRIDGE_PORT = 18080
"""Loopback port of the bridge inside a cage with a network of its own."""


@dataclass(frozen=True)
class Contents:
    """What one attempt puts into its cage."""

    installation: Installation
    workspace: Path
    state: Path
    scratch: Path
    """Home and /tmp of the agent's commands; lasts as long as the attempt."""
    config: Path
    cache: Path
    """Compile cache of Node, shared by attempts."""
    socket: Path
    """Unix socket of the model proxy."""
    kit: Path
    """Folder for what the cage itself needs; gone when the attempt has ended."""


@dataclass(frozen=True)
class Places:
    """Where those things are for the agent, and the variables it gets."""

    node: str
    entry: str
    workspace: str
    state: str
    config: str
    shell: str
    preload: str | None
    """Script to preload; null where the proxy is reached directly."""
    environment: Mapping[str, str]


class Cage(Protocol):
    """One way of confining the agent."""

    @property
    def kind(self) -> str:
        """bubblewrap | process."""

    @property
    def fingerprint(self) -> str:
        """Digest of what of the cage can change the agent's behaviour."""

    @property
    def isolates(self) -> bool:
        """Whether the agent has processes and a network of its own; else it reaches the proxy over loopback."""

    def prepare(self, contents: Contents) -> None:
        """Write what the cage needs and hand workspace, state, scratch and cache over to the agent's user."""

    def places(self, contents: Contents) -> Places:
        """Where things are inside."""

    def failed_commands(self, contents: Contents) -> int:
        """How many of the agent's commands were not run because their own sandbox could not be made."""

    def command(self, contents: Contents, argv: Sequence[str], status_fd: int) -> list[str]:
        """The command line that runs `argv` inside, in a cleared environment.

        Args:
            status_fd: inherited descriptor on which a sandbox states its first process and the exit code, as JSON.
        """

    def probe(self) -> None:
        """Try it out.

        Raises:
            SetupError: this machine cannot do it; says what is missing and what to do.
        """


def open_cage(kind: Literal["bubblewrap", "docker", "process"]) -> Cage:
    """The cage of a kind.

    Raises:
        UsageError: there is no such cage for agents.
    """
    from assets.rollouts.cage.bubblewrap import BubblewrapCage
    from assets.rollouts.cage.process import ProcessCage

    if kind == "bubblewrap":
        return BubblewrapCage()
    if kind == "process":
        return ProcessCage()
    raise UsageError(f"agents cannot be run in sandbox {kind!r} yet; set rollouts.sandbox to bubblewrap (or process)")
