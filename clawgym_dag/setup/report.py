"""How set-up runs commands, says what it does, and fails: one line, with what to do next."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

EXIT_SETUP = 3
"""Exit code of `lake.errors.SetupError`, which cannot be imported before installation."""

ROOT = Path(__file__).resolve().parent.parent.parent
"""The repository."""


def say(line: str) -> None:
    """One line of progress."""
    print(f"setup: {line}", flush=True)


def fail(line: str) -> NoReturn:
    """Stop with one line on stderr."""
    print(f"setup: {line}", file=sys.stderr, flush=True)
    raise SystemExit(EXIT_SETUP)


def run(command: Sequence[object], *, env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> str | None:
    """Run a command quietly; says every minute that it still runs.

    Returns:
        None when it succeeded, else the one line of its output that says most.
    """
    try:
        running = subprocess.Popen(
            [str(part) for part in command], cwd=cwd, env=env, text=True, errors="replace", stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        return str(error)
    minutes = 0
    while True:
        try:
            out, err = running.communicate(timeout=60)
            break
        except subprocess.TimeoutExpired:
            minutes += 1
            say(f"… still at it after {minutes} min")
        except BaseException:
            running.kill()
            running.wait()
            raise
    return None if running.returncode == 0 else telling_line(err + "\n" + out, running.returncode)


def telling_line(output: str, code: int) -> str:
    """The line of a failed command's output that a person would look for."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for mark in ("ERROR:", "npm error code", "npm error", "error:", "E: ", "fatal:"):
        for line in lines:
            if line.startswith(mark):
                return line[:300]
    return lines[-1][:300] if lines else f"exit code {code} and no output"
