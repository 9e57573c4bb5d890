"""No isolation at all: the command runs as a child of this process, on the host's own files and network.

For machines without bubblewrap and docker, and only when asked for by name. It keeps the clock, the output bound and
a watch of memory and processes, so that an accident ends; it stops nobody who means harm.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assets.sandbox.contract import Limits, Mount, SandboxResult
from assets.sandbox.python import clean_python
from assets.sandbox.supervise import Run

WARNING = (
    "WARNING: sandbox `process` isolates NOTHING: verifiers and agent commands run as you, on your files and network."
    " Use it only for tasks and models you trust; bubblewrap or docker isolate."
)


@dataclass(frozen=True)
class Process:
    """A `Sandbox` in name only. Paths below a mount's target are rewritten to its source in argv, env and cwd."""

    name: str = "process"

    @property
    def python(self) -> str:
        """The clean interpreter at its place on the host."""
        return str(clean_python() / "bin" / "python3")

    @property
    def isolation(self) -> str:
        """What is isolated: nothing."""
        return "process: NO isolation; wall time, output, memory and processes are watched only"

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
        """As `Sandbox.run`; read-only mounts are not read-only here."""
        path = f"{clean_python() / 'bin'}:/usr/bin:/bin"
        own = {"PATH": path, "HOME": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC"}
        variables = own | {name: _on_host(value, mounts) for name, value in env.items()}
        command = [
            "prlimit", "--core=0", f"--cpu={limits.cpu_s}:{limits.cpu_s + 1}", f"--fsize={limits.file_bytes}", "--",
            *(_on_host(word, mounts) for word in argv),
        ]  # fmt: skip
        run = Run(limits, [mount.source for mount in mounts if mount.writable])
        return run.go(lambda _: command, stdin=stdin, env=variables, cwd=Path(_on_host(cwd, mounts)))


def _on_host(text: str, mounts: Sequence[Mount]) -> str:
    for mount in sorted(mounts, key=lambda mount: len(mount.target), reverse=True):
        if text == mount.target or text.startswith(mount.target.rstrip("/") + "/"):
            return str(mount.source.absolute()) + text[len(mount.target.rstrip("/")) :]
    return text


def open_process() -> Process:
    """The sandbox, after a warning on stderr."""
    print(WARNING, file=sys.stderr, flush=True)
    return Process()
