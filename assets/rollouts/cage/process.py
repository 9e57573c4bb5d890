"""No cage: the agent runs as the present user with the machine's files and network, for debugging only.

Its commands can read everything this user can, other attempts and the verifier included. Whoever chooses it is told.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from types import MappingProxyType

from assets.rollouts.cage import Contents, Places
from lake.ids import digest


class ProcessCage:
    """No isolation at all."""

    kind = "process"
    isolates = False
    fingerprint = digest("process")

    def prepare(self, contents: Contents) -> None:
        """A home and a place for temporary files."""
        for folder in (contents.scratch / "home", contents.scratch / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)

    def places(self, contents: Contents) -> Places:
        """The real paths."""
        return Places(
            node=str(contents.installation.node),
            entry=str(contents.installation.entry),
            workspace=str(contents.workspace),
            state=str(contents.state),
            config=str(contents.config),
            shell="/bin/bash",
            preload=None,
            environment=MappingProxyType(
                {
                    "PATH": "/usr/local/bin:/usr/bin:/bin",
                    "HOME": str(contents.scratch / "home"),
                    "TMPDIR": str(contents.scratch / "tmp"),
                    "LANG": "C.UTF-8",
                    "TZ": "UTC",
                }
            ),
        )

    def failed_commands(self, contents: Contents) -> int:
        """There is nothing that could fail."""
        return 0

    def command(self, contents: Contents, argv: Sequence[str], status_fd: int) -> list[str]:
        """`argv` itself, in a cleared environment, dying with the runner where setpriv is there to arrange it."""
        env = [f"{name}={value}" for name, value in self.places(contents).environment.items()]
        leash = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        return [*leash, "env", "-i", *env, *argv]

    def probe(self) -> None:
        """Nothing can be missing; warns."""
        print(
            'WARNING: rollouts.sandbox = "process": agents run WITHOUT ISOLATION, with your files and your network. '
            "Use it for debugging only, never with a model you do not trust.",
            file=sys.stderr,
        )
