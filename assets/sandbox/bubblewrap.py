"""Isolation by bubblewrap: own namespaces, no network, system files read-only, no capabilities, no privileges.

Two modes, found out by trying. `userns`: an ordinary user; bwrap makes a user namespace, inside one is `nobody`.
`root`: bwrap makes the mounts as root, then a prelude drops to the unprivileged user `nobody` for good; so a command
is never the host's root, not even a powerless one (which could still write root-owned files below /proc/sys).

Limits: wall time, output and disk by the supervisor, CPU time and file size by rlimits (per process), memory and
processes by a control group where one can be made; else memory by RLIMIT_DATA per process and a watch of the resident
sum, processes by RLIMIT_NPROC (`userns` mode) and a watch. `isolation` says which hold here.

Nested use (each command of an agent in a sandbox of its own, inside the agent's): make the outer one with
`nested=True` and the inner command line with `inner=True`. The inner bwrap is always in `userns` mode; it needs user
namespaces (which `nested=False` forbids in `userns` mode), a uid other than 0 to map, and a /proc without covered
folders to mount its own: all three hold in both modes. Writable sources must belong to the sandbox's user: `hand_over`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Literal

from assets.sandbox import cgroup
from assets.sandbox.contract import Limits, Mount, SandboxResult
from assets.sandbox.python import TARGET, base_prefix, clean_python
from assets.sandbox.supervise import Run, entering
from lake.errors import SetupError

Mode = Literal["root", "userns"]

UID = 65534
"""Who one is inside: nobody."""

PATH = f"{TARGET}/bin:/usr/bin:/bin"
ENV = {"PATH": PATH, "HOME": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC"}
"""The variables of every sandbox."""

_SYSTEM_FILES = ("/etc/passwd", "/etc/group", "/etc/ld.so.cache", "/etc/alternatives", "/etc/mime.types")
_PRELUDE_CAPS = ("CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_DAC_OVERRIDE")
# bwrap covers what root could write below /proc. After the drop nothing there is writable, and a covered /proc would
# forbid a nested sandbox its own.
_PRELUDE = (
    "umount /proc/sys /proc/irq /proc/bus /proc/sysrq-trigger 2>/dev/null;"
    f" exec setpriv --reuid={UID} --regid={UID} --clear-groups --inh-caps=-all --ambient-caps=-all --bounding-set=-all"
    ' --no-new-privs -- "$@"'
)
_INSTALL = "install it (`apt-get install bubblewrap`) or choose another sandbox (docker; process isolates nothing)"


def base_argv(mode: Mode, *, nested: bool = False, inner: bool = False, tmp_bytes: int = 256 * 1024**2) -> list[str]:
    """The bwrap command up to the mounts: namespaces, system files, private /proc, /dev, /tmp, the clean Python.

    Args:
        mode: `userns` for an ordinary user and for a sandbox in a sandbox; see `mode()`.
        nested: whether sandboxes can be made inside.
        inner: whether the command line is for use inside a sandbox of ours.
        tmp_bytes: size of /tmp, which is memory.
    """
    argv = ["bwrap", "--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox", "--cap-drop", "ALL"]
    for space in ("ipc", "pid", "net", "uts", "cgroup-try"):
        argv += [f"--unshare-{space}"]
    if mode == "root":
        for capability in _PRELUDE_CAPS:
            argv += ["--cap-add", capability]
    else:
        argv += ["--unshare-user", "--uid", str(UID), "--gid", str(UID)]
        if not nested and _knows("--disable-userns"):
            argv += ["--disable-userns"]
    argv += ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "lib", "lib64", "lib32", "sbin"):
        path = Path("/", name)
        if path.is_symlink():
            argv += ["--symlink", f"usr/{name}", f"/{name}"]
        elif path.is_dir():
            argv += ["--ro-bind", f"/{name}", f"/{name}"]
    argv += ["--dir", "/etc"]
    for file in _SYSTEM_FILES:
        argv += ["--ro-bind-try", file, file]
    argv += ["--proc", "/proc", "--dev", "/dev"]
    argv += ["--size", str(64 * 1024**2), "--perms", "1777", "--tmpfs", "/dev/shm"]
    argv += ["--size", str(tmp_bytes), "--perms", "1777", "--tmpfs", "/tmp"]
    argv += mount_argv(python_mounts(inner=inner))
    for name, value in ENV.items():
        argv += ["--setenv", name, value]
    return argv


def python_mounts(*, inner: bool = False) -> list[Mount]:
    """What the clean interpreter needs; an inner sandbox takes it from where the outer one shows it."""
    prefix = base_prefix()
    mounts = [Mount(prefix, str(prefix))] if prefix else []
    return [*mounts, Mount(Path(TARGET) if inner else clean_python(), TARGET)]


def mount_argv(mounts: Sequence[Mount]) -> list[str]:
    """Options for mounts, outer before inner, with their parent folders readable whatever the source's mode is."""
    argv: list[str] = []
    for mount in sorted(mounts, key=lambda mount: mount.target):
        for parent in reversed(PurePosixPath(mount.target).parents[:-1]):
            argv += ["--perms", "0755", "--dir", str(parent)]
        argv += ["--bind" if mount.writable else "--ro-bind", str(mount.source.absolute()), mount.target]
    return argv


def sandbox_argv(
    argv: Sequence[str],
    *,
    mode: Mode,
    mounts: Sequence[Mount] = (),
    env: Mapping[str, str] | None = None,
    cwd: str = "/tmp",
    nested: bool = False,
    inner: bool = False,
    limits: Limits | None = None,
    status_fd: int | None = None,
) -> list[str]:
    """The whole command line for `argv` in a sandbox; what `run` starts and what others may start themselves.

    Args:
        mode: of the machine (`mode()`); `userns` for an inner one.
        nested: whether sandboxes can be made inside.
        inner: whether this line is for use inside a sandbox of ours; its mounts' sources are then paths in there.
        limits: rlimits are set when given. Wall time, output and control groups are the caller's.
        status_fd: descriptor on which bwrap states the init process and the exit code.
    """
    command = base_argv(mode, nested=nested, inner=inner, tmp_bytes=limits.memory_bytes if limits else 256 * 1024**2)
    if status_fd is not None:
        command += ["--json-status-fd", str(status_fd)]
    command += mount_argv(mounts)
    # What is not a mount of its own is memory without a bound: make it read-only.
    command += ["--remount-ro", "/dev", "--remount-ro", "/"]
    for name, value in (env or {}).items():
        command += ["--setenv", name, value]
    command += ["--chdir", cwd, "--"]
    if mode == "root":
        command += ["/bin/sh", "-c", _PRELUDE, "sh"]
    return [*command, *(_rlimits(limits, mode, inner=inner) if limits else []), *argv]


def _rlimits(limits: Limits, mode: Mode, *, inner: bool) -> list[str]:
    argv = ["prlimit", "--core=0", f"--cpu={limits.cpu_s}:{limits.cpu_s + 1}", f"--fsize={limits.file_bytes}"]
    controlled = cgroup.limited()
    if "memory" not in controlled:
        argv += [f"--data={limits.memory_bytes}"]
    if mode == "userns" and (inner or "pids" not in controlled):
        # Counted within the sandbox's own user namespace. In root mode `nobody` would be counted machine-wide.
        argv += [f"--nproc={limits.processes}"]
    return [*argv, "--"]


def hand_over(path: Path, mode: Mode) -> None:
    """Make a tree writable for the sandbox's user (changes owners in root mode, nothing else; links not followed)."""
    if mode != "root":
        return
    os.chown(path, UID, UID, follow_symlinks=False)
    for parent, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.chown(os.path.join(parent, name), UID, UID, follow_symlinks=False)  # noqa: PTH118 - odd bytes


@dataclass(frozen=True)
class Bubblewrap:
    """A `Sandbox` that runs each command in a bwrap of its own."""

    mode: Mode
    nested: bool = False
    name: str = "bubblewrap"
    python: str = f"{TARGET}/bin/python3"

    @property
    def isolation(self) -> str:
        """What is isolated and which limits hold by which means."""
        controlled = cgroup.limited()
        memory = "control group" if "memory" in controlled else "RLIMIT_DATA and a watch"
        processes = "control group" if "pids" in controlled else "RLIMIT_NPROC and a watch"
        return f"bubblewrap ({self.mode}): no network, no host files; memory by {memory}, processes by {processes}"

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
        """As `Sandbox.run`."""
        writable = [mount.source for mount in mounts if mount.writable]
        for source in writable:
            hand_over(source, self.mode)
        group = cgroup.open_group(limits)
        controlled = cgroup.limited() if group else frozenset()
        run = Run(limits, writable, watch=not controlled >= {"memory", "pids"})

        def command(status_fd: int) -> list[str]:
            inner = sandbox_argv(
                argv, mode=self.mode, mounts=mounts, env=env, cwd=cwd, nested=self.nested, limits=limits,
                status_fd=status_fd,
            )  # fmt: skip
            return entering(group.entries if group else (), inner)

        try:
            result = run.go(command, stdin=stdin, env={"PATH": os.environ.get("PATH", os.defpath)})
            out_of_memory = group is not None and group.oom_killed()
        finally:
            if group:
                group.remove()
        return _judged(result, run.reported_exit, out_of_memory=out_of_memory)


def _judged(result: SandboxResult, reported: int | None, *, out_of_memory: bool) -> SandboxResult:
    """Tell a command that ended from one the kernel ended and from a sandbox that never started."""
    if result.limit is None and out_of_memory and result.exit_code != 0:
        return SandboxResult(
            None, result.stdout, result.stderr, result.wall_s, timed_out=False, output_cut=False, limit="memory"
        )
    if result.limit is None and reported is None:
        raise SetupError(f"bubblewrap did not start the command: {_first_line(result.stderr)}; see `clawgym doctor`")
    return result


def open_bubblewrap(*, nested: bool = False) -> Bubblewrap:
    """The sandbox, in the mode that works here.

    Raises:
        SetupError: bwrap is missing or cannot make its namespaces.
    """
    return Bubblewrap(mode(), nested=nested)


@cache
def mode() -> Mode:
    """`root` where we are root and may mount, else `userns`.

    Raises:
        SetupError: as `open_bubblewrap`.
    """
    if shutil.which("bwrap") is None:
        raise SetupError(f"bubblewrap is missing (no `bwrap` on the PATH); {_INSTALL}")
    for tool in ("prlimit", "setpriv"):
        if not any(Path(folder, tool).exists() for folder in ("/usr/bin", "/bin")):
            raise SetupError(f"{tool} is missing in /usr/bin (package util-linux), the bubblewrap sandbox needs it")
    tried: list[str] = []
    candidates: tuple[Mode, ...] = ("root", "userns") if os.geteuid() == 0 else ("userns",)
    for candidate in candidates:
        said = _try(candidate)
        if said is None:
            return candidate
        tried.append(said)
    raise SetupError(
        f"bubblewrap cannot make its namespaces here: {tried[-1]}; allow unprivileged user namespaces"
        " (kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0,"
        " user.max_user_namespaces>0; in a container, its seccomp profile) or choose another sandbox"
    )


def _try(mode: Mode) -> str | None:
    """Null when the clean interpreter runs, else what was said."""
    argv = [f"{TARGET}/bin/python3", "-I", "-c", "import yaml"]
    done = subprocess.run(sandbox_argv(argv, mode=mode), capture_output=True, timeout=60, check=False)
    return None if done.returncode == 0 else _first_line(done.stderr)


@cache
def _knows(option: str) -> bool:
    done = subprocess.run(["bwrap", "--help"], capture_output=True, timeout=20, check=False)
    return option.encode() in done.stdout + done.stderr


def _first_line(data: bytes) -> str:
    return next(iter(data.decode(errors="replace").strip().splitlines()), "no message")
