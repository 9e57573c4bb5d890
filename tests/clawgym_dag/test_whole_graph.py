"""The whole graph on real parts with the profile `test`: interrupted, killed, finished, asked, replayed.

One lake is taken through all of it in order, since each step costs a run of the agent.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import dagster as dg
import pytest

import lake
from clawgym_dag.instance import open_instance
from clawgym_dag.stages import STAGES
from lake import Lake

pytestmark = [pytest.mark.slow, pytest.mark.openclaw]

CLAWGYM = str(Path(sys.executable).parent / "clawgym")
DEMO = ("demo", "--profile", "test")


def start(root: Path, *arguments: str) -> subprocess.Popen[str]:
    env = {**os.environ, "CLAWGYM_LAKE": str(root)}
    return subprocess.Popen(
        [CLAWGYM, *arguments],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    out, err = process.communicate(timeout=600)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return finish(start(root, *arguments))


def running_attempts(root: Path) -> list[Path]:
    return [path for path in (root / "attempts").glob("*") if path.is_dir()]


def wait_for_attempts(process: subprocess.Popen[str], root: Path, more_than: int) -> None:
    """Until the agent runs on more than so many attempts."""
    deadline = time.monotonic() + 240
    while len(running_attempts(root)) <= more_than:
        assert process.poll() is None, f"ended before its rollouts: {process.communicate()}"
        assert time.monotonic() < deadline
        time.sleep(0.05)


def processes_below(root: Path) -> list[str]:
    """Command lines of live processes that name the lake."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(root) in line:
            found.append(line)
    return found


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole graph") / "lake"


@pytest.fixture(scope="module")
def interrupted(root: Path) -> subprocess.CompletedProcess[str]:
    """A demo that got Ctrl-C while the agent ran."""
    process = start(root, *DEMO)
    wait_for_attempts(process, root, 0)
    os.killpg(process.pid, signal.SIGINT)
    return finish(process)


@pytest.fixture(scope="module")
def killed(root: Path, interrupted: subprocess.CompletedProcess[str]) -> int:
    """The next one, killed while the agent ran."""
    before = len(running_attempts(root))
    process = start(root, *DEMO)
    wait_for_attempts(process, root, before)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    return int(process.returncode)


@pytest.fixture(scope="module")
def finished(root: Path, killed: int) -> subprocess.CompletedProcess[str]:
    """The one after that, left alone."""
    done = run(root, *DEMO, "--json")
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def opened(root: Path, finished: subprocess.CompletedProcess[str]) -> Iterator[Lake]:
    yield lake.open(root)


def values(opened: Lake, query: str) -> Sequence[tuple[object, ...]]:
    return opened.sql(query).fetchall()


def test_ctrl_c_is_one_line_and_leaves_nothing_running(
    root: Path, interrupted: subprocess.CompletedProcess[str]
) -> None:
    assert interrupted.returncode == 130
    last = interrupted.stderr.strip().splitlines()[-1]
    assert last == "clawgym: interrupted; nothing is lost, run `clawgym demo --profile test` to go on"
    assert "Traceback" not in interrupted.stderr
    assert processes_below(root) == []


def test_kill_9_is_survived(killed: int, finished: subprocess.CompletedProcess[str]) -> None:
    assert killed == -signal.SIGKILL
    assert json.loads(finished.stdout)["changed"] is True


def test_nothing_was_left_running(root: Path, opened: Lake) -> None:
    assert processes_below(root) == []
    assert list((root / "spool").iterdir()) == []


def test_funnel_reaches_the_bench(finished: subprocess.CompletedProcess[str]) -> None:
    funnel = {row["stage"]: row["n"] for row in json.loads(finished.stdout)["funnel"]}
    assert list(funnel)[:3] == ["personas", "skills", "tasks"]
    assert all(count > 0 for count in funnel.values()), funnel


def test_nothing_was_done_twice(opened: Lake) -> None:
    assert values(opened, "select rollout_id from attempts group by all having count(*) filter (counted) <> 1") == []
    assert values(opened, "select event_id from events group by all having count(*) > 1") == []
    assert values(opened, "select record_key from raw_records group by all having count(*) > 1") == []
    lost = values(opened, "select count(*) from attempts where ending = 'lost'")
    assert lost[0][0] != 0, "the kill hit no attempt; the test proves nothing"


def test_every_record_is_accounted_for(opened: Lake) -> None:
    unequal = values(
        opened,
        "with raw as (select source_id, version, count(*) as n from raw_records group by all),"
        " booked as (select source_id, version, sum(records) as n from ledger group by all)"
        " select * from raw full join booked using (source_id, version) where raw.n is distinct from booked.n",
    )
    assert unequal == []


def test_second_run_finds_nothing_to_do_within_a_minute(root: Path, opened: Lake) -> None:
    started = time.monotonic()
    snapshots = values(opened, "select count(*) from snapshots")
    again = run(root, *DEMO)
    assert again.returncode == 0, again.stderr
    assert "nothing to do: every stage was up to date" in again.stdout
    assert time.monotonic() - started < 60
    assert values(lake.open(root), "select count(*) from snapshots") == snapshots


def test_lake_verifies_and_replays_to_the_same_digests(root: Path, opened: Lake) -> None:
    verified = run(root, "lake", "verify", "--json")
    assert verified.returncode == 0, verified.stdout[-2000:]
    replayed = run(root, "replay", "--json")
    assert replayed.returncode == 0, replayed.stderr
    tables = {table["table"]: table["status"] for table in json.loads(replayed.stdout)["tables"]}
    assert set(tables) == {name for stage in STAGES for name in stage.projection.outputs}
    assert set(tables.values()) == {"equal"}


def test_training_row_is_explained_down_to_bytes(root: Path, opened: Lake) -> None:
    ((example,),) = values(opened, "select min(example_id) from sft_examples")
    explained = run(root, "explain", str(example), "--json")
    assert explained.returncode == 0, explained.stderr
    found = json.loads(explained.stdout)
    assert found["complete"] is True
    seen = {node["table"] for node in walk(found["roots"])}
    assert {"sft_examples", "trajectories", "attempts", "raw_records", "tasks", "verdicts"} <= seen


def walk(nodes: list[dict[str, object]]) -> Iterator[dict[str, object]]:
    for node in nodes:
        yield node
        yield from walk(node["children"])  # type: ignore[arg-type]  # JSON


def test_as_of_shows_the_past(root: Path, opened: Lake) -> None:
    """Training took a snapshot before there was any score; the run took one when there was."""
    ((before, after),) = values(
        opened, "select min_by(snapshot_id, recorded_at), max_by(snapshot_id, recorded_at) from snapshots"
    )
    for snapshot, scored in ((before, False), (after, True)):
        read = run(root, "sql", "select count(*) as n from bench_scores", "--json", "--as-of", str(snapshot))
        assert read.returncode == 0, read.stderr
        assert (json.loads(read.stdout)[0]["n"] > 0) is scored


def test_dagster_knows_the_runs_and_every_check_passed(opened: Lake) -> None:
    with open_instance(opened) as instance:
        runs = instance.get_runs()
        assert {run.job_name for run in runs} == {"demo"}
        assert runs[0].status == dg.DagsterRunStatus.SUCCESS
        for stage in STAGES:
            for name in stage.projection.outputs:
                event = instance.get_latest_materialization_event(dg.AssetKey(name))
                assert event is not None
                assert event.asset_materialization is not None
                assert "dagster/row_count" in event.asset_materialization.metadata


def test_rebuilding_by_dagsters_own_command_changes_no_digest(root: Path, opened: Lake) -> None:
    before = {name: opened.build_record(name)["digest"] for stage in STAGES for name in stage.projection.outputs}
    dagster = [sys.executable, "-m", "dagster", "job", "execute", "-m", "clawgym_dag", "-j", "rebuild_lake"]
    env = {**os.environ, "CLAWGYM_LAKE": str(root), "DAGSTER_HOME": str(root / "dagster")}
    done = subprocess.run(dagster, env=env, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-2000:]
    after = lake.open(root)
    assert before == {name: after.build_record(name)["digest"] for name in before}
