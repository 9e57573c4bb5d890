"""Progress of a run on the terminal: a live line while a stage works, a lasting line when it is done.

Belongs here: what is shown while something runs. Does not belong here: results.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

from assets.stage import Progress, StageRun

if TYPE_CHECKING:
    import dagster as dg

_REDRAW_S = 0.1
_TOLD_S = 30.0
"""How often a stage that counts says how far it is where there is no terminal to draw on."""


class TerminalProgress:
    """The `progress` resource of runs started from the command line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._drawn = 0.0
        self.runs: dict[str, StageRun] = {}
        """What each finished stage did, in order."""
        self.failed_checks: list[str] = []
        """Blocking checks that did not pass, a line each."""

    def of(self, stage: str, log: dg.DagsterLogManager) -> Progress:
        """Where the stage says how far it is: a line that is drawn over, and only on a terminal."""
        return self.line(stage)

    def line(self, stage: str) -> Progress:
        """As `of`, outside Dagster."""

        told = time.monotonic()

        def say(message: str, done: int | None = None, total: int | None = None) -> None:
            nonlocal told
            now = time.monotonic()
            if not self._live and done is not None and total is not None and now - told >= _TOLD_S:
                told = now
                self.lasting(f"{stage:<13} {message} {done}/{total}")
            if self._live and (now - self._drawn > _REDRAW_S or done == total):
                counted = "" if done is None or total is None else f" {done}/{total}"
                self._draw(f"{stage:<13} {message}{counted}")
                self._drawn = now

        say("…")
        return say

    def finished(self, stage: str, run: StageRun, seconds: float) -> None:
        """A stage is done."""
        self.runs[stage] = run
        self.lasting(f"{stage:<13} {describe(run):<70} {seconds:6.1f} s")

    def check_failed(self, table: str, check: str, detail: str) -> None:
        """A blocking check did not pass."""
        self.failed_checks.append(f"{check} of {table}: {detail}")

    def lasting(self, text: str) -> None:
        """A line that stays."""
        self._draw("")
        self._stream.write(text.rstrip() + "\n")
        self._stream.flush()

    def clear(self) -> None:
        """Take the live line away."""
        self._draw("")

    def _draw(self, text: str) -> None:
        if self._live:
            self._stream.write("\r\x1b[2K" + text[:160])
            self._stream.flush()

    @property
    def changed(self) -> bool:
        """Whether any table was rebuilt."""
        return any(not run.built.skipped for run in self.runs.values())


def describe(run: StageRun) -> str:
    """One line: effect counts, then rows of the tables."""
    effect = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in run.effect.items() if count)
    rows = ", ".join(f"{table} {count:,}" for table, count in run.built.rows.items())
    built = f"up to date: {rows}" if run.built.skipped else rows
    return " · ".join(part for part in (effect, built) if part)
