"""One job in a process of its own, so that its peak memory is its own. Does not belong here: what a job measures."""

from __future__ import annotations

import importlib
import multiprocessing
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.measure import Result, peak_memory


def run(job: str, runs: int) -> tuple[Result, int]:
    """A job's result, and the peak memory of the process it ran in. MiB."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_run, job, runs).result()


def _run(job: str, runs: int) -> tuple[Result, int]:
    with tempfile.TemporaryDirectory(prefix=f"bench-{job}-") as folder:
        result: Result = importlib.import_module(f"benchmarks.jobs.{job}").run(Path(folder), runs)
    return result, peak_memory() // 1024**2
