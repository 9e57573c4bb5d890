"""`python -m benchmarks [JOB …] [--runs N]`: run jobs, write results as JSON and Markdown, print the table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks import running
from benchmarks.measure import Result
from lake.ids import utc_now

JOBS = (
    "clean",
    "corpus_text",
    "generate_tasks",
    "ingest",
    "point_read",
    "reingest_unchanged",
    "replay",
    "rollouts_per_minute",
    "verify_per_second",
)
LARGE = ("incremental", "point_read_25000")
"""Run only when named: they make gigabytes first."""
RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("deltalake", "duckdb", "pyarrow", "msgspec")


def main() -> int:
    """Entry point; exit code 2 for an unknown job."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=f"of {', '.join(JOBS)}; all where none is named")
    parser.add_argument("--runs", type=int, default=3, help="alternating runs a side (default 3)")
    arguments = parser.parse_args()
    unknown = [job for job in arguments.jobs if job not in JOBS + LARGE]
    if unknown:
        print(f"benchmarks: no job {unknown[0]!r}; there are: {', '.join(JOBS + LARGE)}", file=sys.stderr)
        return 2
    for job in arguments.jobs or JOBS:
        load = os.getloadavg()[0]
        result, peak = running.run(job, arguments.runs)
        print(_line(result), flush=True)
        _write([result], peak, load)
    return 0


def _line(result: Result) -> str:
    peer = "not run" if result.peer is None else f"{result.peer:g}"
    ratio = "" if result.ratio is None else f"{result.ratio:.2f}"
    return (
        f"| {result.name} | {result.n} | {result.ours:g} | {peer} | {ratio} | {result.unit} "
        f"| {result.peer_is} | {result.runs} |"
    )


def _write(results: list[Result], peak_mb: int, load: float) -> None:
    """Merge into latest.json (jobs not run now keep their older figures) and write the table beside it."""
    RESULTS.mkdir(exist_ok=True)
    latest = RESULTS / "latest.json"
    kept = json.loads(latest.read_text())["jobs"] if latest.exists() else []
    names = {result.name for result in results}
    machine = {
        "cpu": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in _PACKAGES},
        "peak_memory_mb": peak_mb,
        "load_before": round(load, 1),
        "measured_at": utc_now().isoformat(timespec="seconds"),
    }
    jobs = [job for job in kept if job["name"] not in names]
    jobs += [{**result.to_json(), "machine": machine} for result in results]
    jobs.sort(key=lambda job: str(job["name"]))
    latest.write_text(json.dumps({"jobs": jobs}, indent=1) + "\n")
    head = "| job | n | ours | peer | ratio | unit | peer is | runs |\n|---|---|---|---|---|---|---|---|\n"
    fields = Result.__dataclass_fields__
    rows = [_line(Result(**{key: job[key] for key in fields})) for job in jobs]
    (RESULTS / "latest.md").write_text(
        "# Figures\n\nMedians of alternating runs; ratio above 1 means ours is better. Made by `make bench`.\n\n"
        + head
        + "\n".join(rows)
        + "\n"
    )


if __name__ == "__main__":
    sys.exit(main())
