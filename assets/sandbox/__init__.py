"""Sandboxes: commands run without network, away from the host, within limits; folders frozen and rebuilt.

Belongs here: the contract (`contract.py`), an implementation per file, `folder.py`. Does not belong here: what is run.
A tool below the chain of stages: no assets, no tables.
"""

from __future__ import annotations

from assets.sandbox.contract import Kind, Limits, Mount, Sandbox, SandboxResult
from lake.errors import UsageError


def open_sandbox(kind: Kind) -> Sandbox:
    """The sandbox of a kind, tried out.

    Raises:
        SetupError: it cannot work here; the message says what is missing and what to do.
        UsageError: there is no such kind.
    """
    # Imported on demand: docker costs half a second that nobody else should pay.
    if kind == "bubblewrap":
        from assets.sandbox.bubblewrap import open_bubblewrap

        return open_bubblewrap()
    if kind == "docker":
        from assets.sandbox.docker import open_docker

        return open_docker()
    if kind == "process":
        from assets.sandbox.process import open_process

        return open_process()
    raise UsageError(f"no sandbox {kind!r}; there are bubblewrap, docker and process")


__all__ = ["Kind", "Limits", "Mount", "Sandbox", "SandboxResult", "open_sandbox"]
