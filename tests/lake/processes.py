"""Processes of tests: started by a fork server that has imported the lake, so that one costs milliseconds.

Belongs here: starting and waiting. Only the processes started here are ended here.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.lake.workload", "tests.lake.racing", "benchmarks.soak.workload"])


def run(target: Callable[..., None], *args: Any, timeout: float = 60) -> int:
    """Run a function in a process of its own; returns the exit code, negative for a signal."""
    return run_all([(target, args)], timeout)[0]


def run_all(calls: Sequence[tuple[Callable[..., None], tuple[Any, ...]]], timeout: float = 60) -> list[int]:
    """Run functions in processes at the same time; returns their exit codes."""
    processes = [_CONTEXT.Process(target=target, args=args) for target, args in calls]
    for process in processes:
        process.start()
    codes: list[int] = []
    for process in processes:
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
        codes.append(process.exitcode if process.exitcode is not None else -1)
    return codes


def barrier(parties: int) -> Any:
    """A barrier that processes started here may share."""
    return _CONTEXT.Barrier(parties)
