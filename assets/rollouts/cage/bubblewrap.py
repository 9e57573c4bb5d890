"""The bubblewrap cage: no network, its own processes, only node, OpenClaw, state, workspace, configuration, socket.

Each command of the agent gets a second bubblewrap inside (`shell.sh`), which sees less still. How both are made is in
`assets/sandbox/bubblewrap.py`. Does not belong here: running anything but the probe.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Final

from assets.rollouts.cage import BRIDGE_PORT, Contents, Places
from assets.sandbox import Limits, Mount
from assets.sandbox.bubblewrap import UID, Mode, hand_over, mode, sandbox_argv
from lake.errors import SetupError
from lake.ids import digest

COMMAND_LIMITS: Final = Limits(wall_s=3600, cpu_s=600, memory_bytes=4 * 1024**3, processes=256, file_bytes=1024**3)
"""Of each command the agent runs (`wall_s` is the attempt's own limit)."""

_HERE = Path(__file__).parent
_BRIDGE = _HERE.parent / "openclaw" / "bridge.mjs"
_ACCOUNTS = {
    "passwd": f"root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:{UID}:{UID}:agent:/home/agent:/bin/bash\n",
    "group": f"root:x:0:\nagent:x:{UID}:\n",
}
_COPIED = ("ld.so.cache", "mime.types")
_STATUS_FD = 9
_COMMAND_ENV = {"HOME": "/home/agent", "USER": "agent", "SHELL": "/bin/bash", "TERM": "dumb"}
_PLACES: Final = Places(
    node="/opt/node",
    entry="/opt/openclaw/node_modules/openclaw/openclaw.mjs",
    workspace="/workspace",
    state="/state",
    config="/cfg/openclaw.json",
    shell="/opt/agent/bash",
    preload="/opt/agent/bridge.mjs",
    environment=MappingProxyType(
        {
            "PATH": "/usr/bin:/bin",
            "HOME": "/state/home",
            "CLAWGYM_BRIDGE_SOCKET": "/run/model.sock",
            "CLAWGYM_BRIDGE_PORT": str(BRIDGE_PORT),
        }
    ),
)


def shell_text() -> str:
    """The agent's SHELL: `shell.sh` with the inner sandbox's command line in it."""
    inside = [
        Mount(Path("/workspace"), "/workspace", writable=True),
        Mount(Path("/scratch/home"), "/home/agent", writable=True),
        Mount(Path("/scratch/tmp"), "/tmp", writable=True),
    ]
    line = sandbox_argv(
        [], mode="userns", mounts=inside, env=_COMMAND_ENV, cwd="/workspace", inner=True, limits=COMMAND_LIMITS,
        status_fd=_STATUS_FD,
    )  # fmt: skip
    text = (_HERE / "shell.sh").read_text()
    return text.replace("exec @SANDBOX@ ", f"exec {shlex.join(line)} ")


def _write_kit(kit: Path) -> None:
    """The agent's SHELL, and our own copies of system files.

    The host replaces those by renaming (`useradd`, `ldconfig`, a package), and what was bound from a file that is
    replaced cannot be bound again: every command of a running attempt would fail.
    """
    (kit / "bash").write_text(shell_text())
    (kit / "bash").chmod(0o755)
    for name, text in _ACCOUNTS.items():
        (kit / name).write_text(text)
        (kit / name).chmod(0o644)
    for name in _COPIED:
        if Path("/etc", name).is_file():
            shutil.copyfile(Path("/etc", name), kit / name)
            (kit / name).chmod(0o644)


def _kit_mounts(kit: Path) -> list[Mount]:
    etc = [Mount(kit / name, f"/etc/{name}") for name in (*_ACCOUNTS, *_COPIED) if (kit / name).is_file()]
    return [Mount(kit / "bash", _PLACES.shell), *etc]


class BubblewrapCage:
    """Confinement by bubblewrap, in two layers."""

    kind = "bubblewrap"
    isolates = True

    @cached_property
    def fingerprint(self) -> str:
        """The text of `shell.sh` and the limits of commands; not where this machine keeps its Python."""
        return digest(self.kind, (_HERE / "shell.sh").read_text(), repr(COMMAND_LIMITS), _COMMAND_ENV)

    @cached_property
    def _mode(self) -> Mode:
        return mode()

    def prepare(self, contents: Contents) -> None:
        """Write the kit; give the agent's user what it writes to."""
        _write_kit(contents.kit)
        for folder in (contents.scratch / "home", contents.scratch / "tmp", contents.state / "home"):
            folder.mkdir(parents=True, exist_ok=True)
        contents.config.chmod(0o644)
        for folder in (contents.workspace, contents.state, contents.scratch):
            hand_over(folder, self._mode)
        if contents.cache.stat().st_uid == os.geteuid() == 0:  # once: others may be writing in it later
            hand_over(contents.cache, self._mode)

    def places(self, contents: Contents) -> Places:
        """The same in every attempt."""
        return _PLACES

    def command(self, contents: Contents, argv: Sequence[str], status_fd: int) -> list[str]:
        """`argv` in the outer layer."""
        mounts = [
            Mount(contents.installation.node, _PLACES.node),
            Mount(contents.installation.node_modules, "/opt/openclaw/node_modules"),
            *_kit_mounts(contents.kit),
            Mount(_BRIDGE, "/opt/agent/bridge.mjs"),
            Mount(contents.config, _PLACES.config),
            Mount(contents.workspace, _PLACES.workspace, writable=True),
            Mount(contents.state, _PLACES.state, writable=True),
            Mount(contents.scratch, "/scratch", writable=True),
            Mount(contents.cache, "/tmp/node-compile-cache", writable=True),
            Mount(contents.socket, "/run/model.sock", writable=True),
        ]
        return sandbox_argv(
            argv, mode=self._mode, mounts=mounts, env=_PLACES.environment, cwd="/workspace", nested=True,
            status_fd=status_fd,
        )  # fmt: skip

    def failed_commands(self, contents: Contents) -> int:
        """As the agent's SHELL counts them, where no command can reach."""
        failures = contents.scratch / "failed"
        return failures.read_bytes().count(b"\n") if failures.is_file() else 0

    def probe(self) -> None:
        """Run a command through both layers."""
        if shutil.which("bwrap") is None:
            raise SetupError("bubblewrap is missing (no `bwrap` on the PATH); install it: apt-get install bubblewrap")
        folder = Path(tempfile.mkdtemp(prefix="clawgym-probe-"))
        try:
            for name in ("workspace", "scratch/home", "scratch/tmp"):
                (folder / name).mkdir(parents=True)
            for name in ("workspace", "scratch"):
                hand_over(folder / name, self._mode)
            (folder / "kit").mkdir()
            _write_kit(folder / "kit")
            mounts = [
                *_kit_mounts(folder / "kit"),
                Mount(folder / "workspace", "/workspace", writable=True),
                Mount(folder / "scratch", "/scratch", writable=True),
            ]
            argv = [_PLACES.shell, "-c", "touch /workspace/probe && test ! -e /scratch"]
            line = sandbox_argv(argv, mode=self._mode, mounts=mounts, cwd="/workspace", nested=True)
            done = subprocess.run(line, capture_output=True, text=True, timeout=30, check=False)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if done.returncode != 0:
            said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
            raise SetupError(
                f"a sandbox inside a sandbox does not work here: {said}; it needs nested user namespaces (sysctl"
                " user.max_user_namespaces, kernel.unprivileged_userns_clone, AppArmor's restriction), or set"
                ' rollouts.sandbox = "process" to run without isolation'
            )
