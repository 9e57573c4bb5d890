"""A limit on how long queries of a person may take: past it they are interrupted, with a plain word.

Belongs here: the watch over cursors, and what it cannot stop. Does not belong here: which queries have a limit.

DuckDB looks for an interrupt between pieces of work, never inside one call of a function: a call whose work grows with
an argument, or with the square of a text's length, is refused before it runs. Calls over a text that is long because
rows were put together (`string_agg`) are not bounded.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from lake.errors import UsageError

_AGAIN_S = 0.1
"""An interrupt that comes while nothing runs is lost, so it is given again."""

_UNSTOPPABLE = frozenset({"repeat", "lpad", "rpad", "bar", "levenshtein", "editdist3", "damerau_levenshtein"})
"""Functions one call of which can take any time or memory."""


def require_stoppable(functions: set[str]) -> None:
    """Refuse functions that no deadline can interrupt.

    Raises:
        UsageError: one of them is.
    """
    if found := sorted(functions & _UNSTOPPABLE):
        raise UsageError(
            f"{found[0]}() cannot be stopped while it runs, so it is not allowed in a query with a time limit; run it "
            "with `clawgym sql`, which has no limit"
        )


class Deadline:
    """Interrupts the cursors it is told of, from a moment on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cursors: list[duckdb.DuckDBPyConnection] = []
        self.over = threading.Event()
        """Nothing is to be interrupted any more."""
        self.passed = False

    def watch(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Interrupt this cursor too, when the time comes."""
        with self._lock:
            self._cursors.append(cursor)

    def run(self, seconds: float) -> None:
        """Wait, then interrupt until it is over."""
        wait = seconds
        while not self.over.wait(wait):
            wait, self.passed = _AGAIN_S, True
            with self._lock:
                for cursor in self._cursors:
                    cursor.interrupt()


@contextmanager
def deadline(seconds: float) -> Iterator[Deadline]:
    """Give queries at most so long.

    Raises:
        UsageError: the time was over before they were done.
    """
    found = Deadline()
    watcher = threading.Thread(target=found.run, args=(seconds,), name="query-deadline", daemon=True)
    watcher.start()
    try:
        yield found
    except duckdb.Error as error:
        if found.passed:
            raise UsageError(
                f"the query was stopped after {seconds:g} s; ask for less, or run it with `clawgym sql`, which has no "
                "limit"
            ) from error
        raise
    finally:
        found.over.set()
        watcher.join()
