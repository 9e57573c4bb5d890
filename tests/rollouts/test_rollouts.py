"""The real OpenClaw through a batch: good, too long, too talkative, too big, malformed; and what is left of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import lake
from assets.profile import Profile, RolloutsSection
from assets.rollouts import STAGE, attempt_folder, run_batch
from assets.rollouts.openclaw.state import read_session
from assets.rollouts.teacher import CHARACTERS
from assets.rollouts.teacher.character import Draws
from assets.stage import Context
from assets.tasks import TaskBundle
from assets.tasks.plan import Step
from tests.rollouts.handmade import PLAN, bundle
from tests.rollouts.runs import Ran, calls, plan_of, run

pytestmark = pytest.mark.openclaw

SLEEPER = plan_of(Step("exec", {"command": "echo before > before.txt; sleep 300; echo after > after.txt"}, "run"))
TALKER = plan_of(*(Step("exec", {"command": f"echo {n} >> log.txt"}, "run") for n in range(20)))
HOARDER = plan_of(Step("exec", {"command": "head -c 3000000 /dev/urandom > big.bin; sleep 20"}, "run"))


def malformed_task() -> TaskBundle:
    """A task on which the weak teacher's draws come out as a malformed call before anything else goes wrong."""
    weak = CHARACTERS["weak@1"]
    for number in range(10_000):
        one = bundle(plan_of(*PLAN.steps[:2]), task_id=f"malformed-{number}")
        if Draws(1, 0, f"{one.task_id}@{one.task_version}", weak.name).happens(weak.malformed, "malformed"):
            return one
    raise AssertionError("no such draw")


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    section = RolloutsSection(
        time_limit_s=150.0, turn_limit=12, concurrency=2, workspace_limit_bytes=2_000_000, max_attempts=1
    )
    return Context(lake.open(tmp_path_factory.mktemp("rollouts") / "lake"), Profile(rollouts=section))


def with_time_limit(context: Context, seconds: float) -> Context:
    settings = context.profile.rollouts.model_copy(update={"time_limit_s": seconds})
    return Context(context.lake, context.profile.model_copy(update={"rollouts": settings}))


@pytest.fixture(scope="module")
def batch(context: Context) -> Iterator[dict[str, dict[str, Any]]]:
    """Task id to the row of its attempt; the good task has one per policy."""
    bundles = [
        bundle(task_id="good"),
        bundle(TALKER, "talker"),
        bundle(HOARDER, "hoarder"),
    ]
    strong = run(context, bundles)
    run(context, [malformed_task()], ["scripted:weak"])
    run(with_time_limit(context, 30.0), [bundle(SLEEPER, "sleeper")])
    rows = context.lake.rows("attempts")
    yield {row["task_id"].partition("-")[0]: row for row in rows}
    assert strong.counts


def test_the_good_one_finishes_with_its_products(context: Context, batch: dict[str, dict[str, Any]]) -> None:
    row = batch["good"]
    assert (row["ending"], row["ending_kind"], row["counted"], row["exit_code"]) == ("finished", "agent", True, 0)
    assert (row["state"], row["sandbox"], row["attempt_no"]) == ("ended", "bubblewrap", 0)
    files = {f["path"]: f for f in context.lake.rows("final_files") if f["attempt_id"] == row["attempt_id"]}
    assert {path: file["change"] for path, file in files.items()} == {
        "data/sales.csv": "unchanged",
        "notes.md": "unchanged",
        "out/report.md": "added",
        "out/total.txt": "added",
    }
    assert context.lake.blob(files["out/total.txt"]["sha256"]) == b"12\n"


def test_its_log_is_whole_and_joins_the_transcript(context: Context, batch: dict[str, dict[str, Any]]) -> None:
    row = batch["good"]
    records = calls(context, row["attempt_id"])
    assert len(records) == row["model_calls"] >= 6
    assert all(record.delivered and record.error is None for record in records)
    messages = [json.loads(record.request)["messages"] for record in records]
    for earlier, later in pairwise(messages):
        assert later[: len(earlier)] == earlier and len(later) > len(earlier)
    session = read_session(attempt_folder(context.lake, row["attempt_id"]) / "state")
    assert session is not None and session.session_id == row["session_id"]
    assert (session.stop_reason, session.final_text) == ("stop", PLAN.closing)
    assert session.ended["status"] == "success"


@pytest.mark.parametrize(
    ("task", "ending", "said"),
    [
        ("sleeper", "time_limit", "30 s"),
        ("talker", "turn_limit", "12 model calls"),
        ("hoarder", "workspace_limit", "2000000"),
        ("malformed", "malformed_call", "not JSON"),
    ],
)
def test_agent_endings(batch: dict[str, dict[str, Any]], task: str, ending: str, said: str) -> None:
    row = batch[task]
    assert (row["ending"], row["ending_kind"], row["counted"]) == (ending, "agent", True)
    assert said in row["ending_detail"]


def test_what_was_there_when_it_ended_is_kept(context: Context, batch: dict[str, dict[str, Any]]) -> None:
    files = context.lake.rows("final_files")
    paths = {f["path"] for f in files if f["attempt_id"] == batch["sleeper"]["attempt_id"]}
    assert "before.txt" in paths and "after.txt" not in paths
    (big,) = [f for f in files if f["path"] == "big.bin"]
    assert big["sha256"] is None and big["size"] == 3_000_000 and "limit" in big["note"]
    log = next(f for f in files if f["path"] == "log.txt")
    assert len(context.lake.blob(log["sha256"]).split()) == 12


def test_openclaw_wrote_its_own_records_though_it_was_stopped(
    context: Context, batch: dict[str, dict[str, Any]]
) -> None:
    session = read_session(attempt_folder(context.lake, batch["talker"]["attempt_id"]) / "state")
    assert session is not None and session.session_id == batch["talker"]["session_id"]


def test_nothing_is_run_twice_and_the_tables_are_the_same_again(
    context: Context, batch: dict[str, dict[str, Any]]
) -> None:
    before = context.lake.build(STAGE.projection)
    good = [row for row in context.lake.rows("tasks") if row["task_id"] in ("good", "sleeper")]
    again: Ran = run(context, [], [])
    assert again.counts == {}
    from assets.rollouts import plan_batch

    planned = plan_batch(
        context, purpose="collect", batch="other", tasks=good, policies=["scripted:strong"], repeats=1, seed=1
    )
    assert run_batch(context, planned) == {"found": 2}
    assert context.lake.build(STAGE.projection, force=True).digests == before.digests


def test_the_checks_pass_and_count(context: Context, batch: dict[str, dict[str, Any]]) -> None:
    for check in STAGE.checks:
        outcome = check.run(context.lake)
        assert outcome.passed, outcome.detail
    counted = next(check for check in STAGE.checks if check.name == "rollouts_counted").run(context.lake)
    assert counted.metadata == {"rollouts": 5, "uncounted": 0, "open": 0}


def test_nothing_of_the_attempts_is_alive(context: Context, batch: dict[str, dict[str, Any]]) -> None:
    root = str(context.lake.root).encode()
    alive = [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if path.parent.name.isdigit() and _names(path, root)
    ]
    assert alive == []


def _names(path: Path, needle: bytes) -> bool:
    try:
        line = path.read_bytes()
    except OSError:
        return False
    return needle in line and b"bwrap" in line
