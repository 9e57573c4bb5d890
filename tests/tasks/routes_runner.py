"""Both routes in a process of its own, for tests that kill it: `python -m tests.tasks.routes_runner ROOT NUMBER`.

NUMBER is how many calls may be on their way at a time.
"""

from __future__ import annotations

import sys
from pathlib import Path

import lake
from assets.stage import Context, run_stage
from assets.tasks import STAGE
from tests.tasks.test_routes import profile


def main(root: str, concurrency: str) -> None:
    run_stage(STAGE, Context(lake.open(Path(root) / "lake"), profile(Path(root), concurrency=int(concurrency))))


if __name__ == "__main__":
    main(*sys.argv[1:])
