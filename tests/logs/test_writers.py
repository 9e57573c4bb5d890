"""kill -9 at every crash point of ingest and cleaning while two and four writers work on one lake.

What comes out is what one undisturbed writer makes. Random moments are the business of `make soak`.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from benchmarks.soak.__main__ import POINTS
from benchmarks.soak.workload import Input, State, write
from lake import crash
from tests.lake import processes

SESSIONS = 3
SEED = 3

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Input, State]:
    """The input, grown, and what one writer makes of it."""
    folder = tmp_path_factory.mktemp("writers")
    source = Input.write(folder / "input", SESSIONS, SEED)
    source.grow()
    write(folder / "lake", source.folder)
    return source, State.of(folder / "lake")


# The points of `groups` are passed by a second build only: see tests/trajectories/test_incremental.py.
@pytest.mark.parametrize("writers", [2, 4])
@pytest.mark.parametrize("point", [point for point in POINTS if not point.startswith("groups.")])
def test_writers_killed_at_a_crash_point_lose_and_double_nothing(
    prepared: tuple[Input, State], tmp_path: Path, point: str, writers: int
) -> None:
    source, expected = prepared
    root = tmp_path / "lake"
    start = processes.barrier(writers)
    codes = processes.run_all([(write, (root, source.folder, point, start))] * writers)
    assert set(codes) <= {0, -signal.SIGKILL}, "a writer failed instead of going on"
    assert -signal.SIGKILL in codes, "the crash point was not passed"
    assert processes.run(write, root, source.folder) == 0
    found = State.of(root)
    assert (found.lost(expected), found.twice, found.findings) == (0, 0, [])
    assert found.sources == expected.sources
    assert found.digests == expected.digests


def test_all_points_of_ingest_and_cleaning_are_among_them() -> None:
    others = {"spool.after_blob"} | {point for point in crash.POINTS if point.startswith("rollout.")}
    assert set(POINTS) == set(crash.POINTS) - others
