"""The command line of one headless OpenClaw run.

Belongs here: arguments and environment. Does not belong here: the configuration file (`config.py`), the cage.
"""

from __future__ import annotations

from assets.rollouts.cage import Places

_ENVIRONMENT = {
    "OPENCLAW_NO_RESPAWN": "1",  # one process; else a detached child survives the kill of its launcher
    "OPENCLAW_EXEC_SHELL_SNAPSHOT": "0",  # no sourcing of shell start-up files before each command
}
MESSAGE_FILE = "task.md"
"""The instruction, in the state folder: an argument would be cut at 128 KiB and show in process lists."""


def agent_command(places: Places, *, timeout_s: float) -> list[str]:
    """`openclaw agent exec` on the instruction in the state folder, with a JSON result on standard output.

    Args:
        timeout_s: OpenClaw's own deadline. It does not hold inside its retry loops: the caller needs one of its own.
    """
    environment = {**_ENVIRONMENT, "SHELL": places.shell}
    preload = [] if places.preload is None else ["--import", places.preload]
    return [
        "env", *(f"{name}={value}" for name, value in environment.items()),
        places.node, "--disable-warning=ExperimentalWarning", *preload, places.entry,
        "agent", "exec", "--message-file", f"{places.state}/{MESSAGE_FILE}",
        "--config", places.config, "--cwd", places.workspace, "--state-dir", places.state,
        "--json", "--timeout", str(max(1, round(timeout_s))),
    ]  # fmt: skip
