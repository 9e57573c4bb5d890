"""kill -9 at every named crash point, then going on: nothing is lost, nothing is there twice, digests are the same."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

import lake
from lake import crash
from lake.verify import verify
from tests.lake import processes, workload

POINTS = [point for point in crash.POINTS if point.split(".")[0] in ("spool", "commit", "build", "ingest")]
LATER = ["spool.after_event:5", "spool.after_event:11", "spool.after_seal:2"]
LATER += ["build.after_write:2", "ingest.after_batch:3"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """State after a run nobody disturbs."""
    root = tmp_path_factory.mktemp("undisturbed") / "lake"
    workload.run(root)
    return workload.state(root)


@pytest.mark.parametrize("point", POINTS + LATER)
def test_run_again_after_kill_equals_undisturbed_run(point: str, undisturbed: dict[str, str], tmp_path: Path) -> None:
    root = tmp_path / "lake"
    assert processes.run(workload.run_and_die, root, point) == -signal.SIGKILL, "the crash point was not passed"
    workload.run(root)
    assert workload.state(root) == undisturbed
    opened = lake.open(root)
    counts = Counter(event.stream_id for event in opened.events())
    assert counts == {workload.SOURCE: 1, **{f"p{i}": workload.EVENTS for i in range(workload.STREAMS)}}
    assert verify(opened).ok
    assert not list((root / "spool").iterdir()), "a spool was left behind"


def test_every_crash_point_of_the_core_is_in_the_list() -> None:
    assert {"spool", "commit", "build", "ingest"} <= {point.split(".")[0] for point in POINTS}
    source = "\n".join(path.read_text() for path in Path(crash.__file__).parent.glob("*.py"))
    unused = [p for p in POINTS if f'crash.point("{p}")' not in source and not p.startswith("ingest.before")]
    assert not unused


def test_unknown_crash_point_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown crash point"):
        crash.point("commit.sometime")


def test_without_the_variable_nothing_happens() -> None:
    assert "CLAWGYM_CRASH_AT" not in os.environ
    crash.point("commit.after_write")
