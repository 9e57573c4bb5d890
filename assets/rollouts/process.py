"""Running the agent's process, and making sure that nothing of it is alive afterwards.

Belongs here: start, watch, stop, wait until all of it is dead. Does not belong here: why it is stopped
(`attempt.py`), what is run (`openclaw/command.py`, `cage`).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

_POLL_S = 0.05
GRACE_S = 4.0
"""What OpenClaw gets to write its own records after SIGTERM."""
_PROGRAMS = (b"bwrap", b"env", b"node")
"""What a run consists of, as long as OpenClaw has not changed its title."""


@dataclass(frozen=True)
class ProcessId:
    """A process that cannot be mistaken for a later one with the same number."""

    pid: int
    started: int
    """Start time, in clock ticks since boot."""

    @staticmethod
    def of(pid: int) -> ProcessId | None:
        """The process of a number; null when there is none."""
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        fields = text.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else ProcessId(pid, int(fields[19]))

    def alive(self) -> bool:
        """Whether it still runs."""
        return ProcessId.of(self.pid) == self

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Signal it, if it is there."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


def kill_naming(folder: Path) -> int:
    """Kill the sandboxes and agents on this machine whose command line names a path below a folder; gives how many.

    The last resort for what a runner started and was killed before it could note it: the sandbox asks the kernel to die
    with its parent, but only once it runs, and a parent that is gone by then is not noticed.
    """
    named, found = f"{folder}/".encode(), 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        program = line.partition(b"\0")[0].rpartition(b"/")[2]
        process = ProcessId.of(int(path.parent.name)) if named in line and program in _PROGRAMS else None
        if process is not None:
            process.kill()
            found += 1
    return found


@dataclass(frozen=True)
class Exit:
    """How the process ended."""

    exit_code: int | None
    """Of the agent; 128 + n for a signal of its own; null when it was stopped from outside."""
    started: bool
    """Whether the agent was started at all."""


class AgentProcess:
    """One run of the agent in its cage."""

    def __init__(
        self, command: Callable[[int], Sequence[str]], *, stdout: Path, stderr: Path, isolated: bool, cwd: Path
    ) -> None:
        """Start it.

        Args:
            command: gives the command line for the descriptor on which the sandbox states its first process.
            isolated: whether the cage has a process namespace of its own, which dies as one.
        """
        self._isolated = isolated
        reader, writer = os.pipe()
        try:
            with stdout.open("wb") as out, stderr.open("wb") as err:
                self._process = subprocess.Popen(
                    command(writer), stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd,
                    pass_fds=(writer,), start_new_session=True,
                )  # fmt: skip
        except BaseException:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        os.set_blocking(reader, False)
        self._status = os.fdopen(reader, "rb", buffering=0)
        self._said = b""
        self._stopped = False
        self.init = self._wait_for_init() if isolated else ProcessId.of(self._process.pid)
        """First process of the sandbox, seen from outside; null when it never got there."""

    @property
    def leader(self) -> ProcessId | None:
        """What to kill to kill everything."""
        return ProcessId.of(self._process.pid)

    @property
    def namespace(self) -> int | None:
        """Number of its process namespace; null where it cannot be seen."""
        try:
            return os.stat(f"/proc/{self.init.pid}/ns/pid").st_ino if self.init and self._isolated else None  # noqa: PTH116
        except OSError:
            return None

    def wait(self, timeout_s: float) -> bool:
        """Wait up to a time; whether it has ended."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self) -> Exit:
        """End it from outside: the agent is asked first, so that it writes its own records; then all is killed."""
        if self._process.poll() is None:
            self._stopped = True
            for process in self._agents():
                process.kill(signal.SIGTERM)
            self.wait(GRACE_S)
        return self.finish()

    def finish(self) -> Exit:
        """Kill what is left, and come back only when nothing is."""
        self._kill_group()
        code = self._process.wait()
        while self.init is not None and self.init.alive():  # the kernel ends a namespace's processes before its init
            self._kill_group()
            time.sleep(_POLL_S)
        self._read_status()
        reported = _last(self._said, "exit-code")
        self._status.close()
        if not self._isolated:
            return Exit(None if self._stopped else (code if code >= 0 else 128 - code), True)
        return Exit(None if self._stopped else reported, self.init is not None or reported is not None)

    def _agents(self) -> list[ProcessId]:
        """The agent itself: below the sandbox's first process, or the leader where there is no sandbox."""
        if not self._isolated or self.init is None:
            return [found for found in (self.init,) if found is not None]
        return [found for child in _children(self.init.pid) if (found := ProcessId.of(child)) is not None]

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        if self.init is not None:
            self.init.kill()

    def _wait_for_init(self) -> ProcessId | None:
        deadline = time.monotonic() + 20.0
        while time.monotonic() < deadline:
            ended = self._process.poll() is not None
            self._read_status()
            pid = _last(self._said, "child-pid")
            if pid is not None:
                return ProcessId.of(pid)
            if ended:
                return None
            time.sleep(0.005)
        return None

    def _read_status(self) -> None:
        while True:
            data = self._status.read(4096)
            if not data:
                return
            self._said += data


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _last(said: bytes, key: str) -> int | None:
    found: int | None = None
    for line in said.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and isinstance(value.get(key), int):
            found = value[key]
    return found
