"""The contract of a sandbox: what is asked of it and what comes back.

Belongs here: plain data and the `Sandbox` protocol. Does not belong here: any implementation (a file each beside this
one), or what is run inside (a verifier, an agent).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

Kind = Literal["bubblewrap", "docker", "process"]


@dataclass(frozen=True)
class Limits:
    """Bounds of one run. What each implementation enforces, and by which means, is said in its module."""

    wall_s: float = 30.0
    cpu_s: int = 60
    """CPU seconds of one process (rlimit); the sum over processes is bounded by `wall_s`."""
    memory_bytes: int = 1024**3
    processes: int = 64
    """Processes and threads alive at once."""
    file_bytes: int = 64 * 1024**2
    """Largest file that can be written."""
    output_bytes: int = 4 * 1024**2
    """Of stdout and of stderr; the run is ended when one of them passes it."""
    disk_bytes: int = 512 * 1024**2
    """Growth allowed to all writable mounts together; looked at twice a second."""


@dataclass(frozen=True)
class Mount:
    """A host file or folder made visible inside. Where a writable source is not the caller's own user's inside, its
    owner is changed to the sandbox's user."""

    source: Path
    target: str
    writable: bool = False


@dataclass(frozen=True)
class SandboxResult:
    """What a run left behind. When it comes back, every process of the run is dead."""

    exit_code: int | None
    """Null when the run was ended from outside; 128 + n when the command died of signal n."""
    stdout: bytes
    stderr: bytes
    wall_s: float
    timed_out: bool
    output_cut: bool
    limit: Literal["wall", "memory", "processes", "output", "disk"] | None = None
    """The limit that ended it."""


class Sandbox(Protocol):
    """Runs commands without network, away from the host's files, within limits."""

    @property
    def name(self) -> str:
        """bubblewrap | docker | process."""

    @property
    def python(self) -> str:
        """Path, inside, of the clean Python interpreter (standard library and PyYAML, nothing else)."""

    @property
    def isolation(self) -> str:
        """One line: what is isolated and which limits hold by which means."""

    def run(
        self,
        argv: Sequence[str],
        *,
        mounts: Sequence[Mount],
        env: Mapping[str, str],
        cwd: str,
        limits: Limits,
        stdin: bytes | None = None,
    ) -> SandboxResult:
        """Run a command to its end.

        Args:
            argv: command; its first word is looked up on the sandbox's own PATH.
            mounts: what it sees beside system files.
            env: added to the sandbox's own few variables.
            cwd: folder inside.
            limits: bounds.
            stdin: bytes, else nothing.

        Raises:
            SetupError: the sandbox itself could not be set up. What the command does is never an error.
        """
