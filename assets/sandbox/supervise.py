"""Running one process tree to its end within limits, whatever it does.

Belongs here: starting it, bounded capture of what it prints, the clock, watching memory, processes and disk where the
kernel does not, and making sure that nothing of it is alive afterwards. Does not belong here: what isolates it.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Literal

from assets.sandbox.contract import Limits, SandboxResult
from lake.errors import SetupError

_TICK_S = 0.05
_DISK_EVERY_S = 0.5
_DEATH_S = 10.0

LimitName = Literal["wall", "memory", "processes", "output", "disk"]

_ENTER = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 125; shift; done; shift; exec "$@"'


def entering(entries: Sequence[str], argv: Sequence[str]) -> list[str]:
    """`argv` behind a shell that first enters the given control groups, so that no child can be outside of them."""
    return ["/bin/sh", "-c", _ENTER, "sh", *entries, "--", *argv] if entries else list(argv)


class Run:
    """One supervised process tree.

    With `status_fd` given to bubblewrap (`--json-status-fd`), the init process of its namespace is known: it is killed
    directly and its death, which comes after that of every process in the namespace, is awaited.
    """

    def __init__(self, limits: Limits, writable: Sequence[Path] = (), *, watch: bool = True) -> None:
        self._limits, self._writable, self._watch = limits, writable, watch
        self._disk_start = sum(map(folder_bytes, writable))
        self._next_disk = time.monotonic() + _DISK_EVERY_S
        self._limit: LimitName | None = None
        self._init: int | None = None
        self._pidfd: int | None = None
        self._status = b""
        self._kept: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self.reported_exit: int | None = None
        """Exit code as bubblewrap states it; null when the command never came to an end of its own."""

    def go(
        self,
        argv: Callable[[int], Sequence[str]],
        *,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> SandboxResult:
        """Run it.

        Args:
            argv: command, given the number of the descriptor on which bubblewrap may state its status.

        Raises:
            SetupError: the program cannot be started.
        """
        started = time.monotonic()
        status_read, status_write = os.pipe()
        with tempfile.TemporaryFile() as given, os.fdopen(status_read, "rb", buffering=0) as status:
            given.write(stdin or b"")
            given.seek(0)
            try:
                process = subprocess.Popen(
                    list(argv(status_write)), stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    env=dict(env or {}), cwd=cwd, pass_fds=(status_write,), start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise SetupError(f"cannot start {argv(0)[0]}: {error}; see `clawgym doctor`") from error
            finally:
                os.close(status_write)
            try:
                self._follow(process, status, started)
            finally:
                self._end(process)
        exit_code = self.reported_exit if self.reported_exit is not None else process.returncode
        return SandboxResult(
            exit_code=None if self._limit else exit_code,
            stdout=bytes(self._kept["stdout"]),
            stderr=bytes(self._kept["stderr"]),
            wall_s=time.monotonic() - started,
            timed_out=self._limit == "wall",
            output_cut=self._limit == "output",
            limit=self._limit,
        )

    def _follow(self, process: subprocess.Popen[bytes], status: IO[bytes], started: float) -> None:
        """Read until all is closed and dead; on a limit, kill and go on reading what is left in the pipes."""
        deadline = started + self._limits.wall_s
        killed_at: float | None = None
        with selectors.DefaultSelector() as selector:
            for name, stream in (("stdout", process.stdout), ("stderr", process.stderr), ("status", status)):
                assert stream is not None
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_READ, name)
            while selector.get_map() or process.poll() is None:
                for key, _ in selector.select(_TICK_S):
                    if not self._take(key.fd, key.data):
                        selector.unregister(key.fileobj)
                if not selector.get_map():
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(_TICK_S)
                now = time.monotonic()
                self._limit = self._limit or self._passed(process.pid, now, deadline)
                if self._limit and killed_at is None:
                    self._kill(process)
                    killed_at = now
                elif killed_at is not None and now > killed_at + _DEATH_S:
                    return

    def _take(self, fd: int, name: str) -> bool:
        """Read once; false at the end of the stream."""
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if name == "status":
            self._status += data
            self._read_status()
        elif data:
            kept = self._kept[name]
            room = self._limits.output_bytes - len(kept)
            kept += data[: max(room, 0)]
            if len(data) > room and self._limit is None:
                self._limit = "output"
        return bool(data)

    def _read_status(self) -> None:
        *lines, self._status = self._status.split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError):
                stated = json.loads(line)
                if "child-pid" in stated:
                    self._init = int(stated["child-pid"])
                    with contextlib.suppress(OSError):
                        self._pidfd = os.pidfd_open(self._init)
                if "exit-code" in stated:
                    self.reported_exit = int(stated["exit-code"])

    def _passed(self, pid: int, now: float, deadline: float) -> LimitName | None:
        if now > deadline:
            return "wall"
        if self._watch:
            count, memory = tree_usage(pid)
            if count > self._limits.processes + 3:
                return "processes"
            if memory > self._limits.memory_bytes:
                return "memory"
        if self._writable and now > self._next_disk:
            self._next_disk = now + _DISK_EVERY_S
            if sum(map(folder_bytes, self._writable)) - self._disk_start > self._limits.disk_bytes:
                return "disk"
        return None

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        if self._pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Nothing of the run is alive when this is done."""
        self._kill(process)
        process.wait()
        if self._pidfd is not None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._pidfd, selectors.EVENT_READ)
                dead = bool(selector.select(_DEATH_S))
            os.close(self._pidfd)
            if not dead:
                raise SetupError(
                    f"process {self._init} of a sandbox survives SIGKILL; look at it with `ps -f {self._init}`"
                )
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def tree_usage(pid: int) -> tuple[int, int]:
    """Number of processes and threads below a process (itself included), and their resident memory in bytes."""
    waiting, count, memory = [pid], 0, 0
    page = os.sysconf("SC_PAGE_SIZE")
    while waiting:
        folder = Path("/proc") / str(waiting.pop())
        try:
            resident, shared = (folder / "statm").read_text().split()[1:3]
            threads = [task.path for task in os.scandir(folder / "task")]
            for thread in threads:
                waiting += [int(child) for child in Path(thread, "children").read_text().split()]
        except (OSError, ValueError):
            continue
        count += len(threads)
        memory += (int(resident) - int(shared)) * page
    return count, memory


def folder_bytes(folder: Path, stop: int = 200_000) -> int:
    """Bytes allocated below a folder, links not followed; looks at `stop` entries at most."""
    total, seen, waiting = 0, 0, [str(folder)]
    while waiting and seen < stop:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    seen += 1
                    with contextlib.suppress(OSError):
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
        except OSError:
            continue
    return total
