"""Planning, tables and checks from events alone: no agent runs here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lake
from assets.profile import Profile, RolloutsSection
from assets.rollouts import STAGE, PlannedAttempt, plan_batch, reap
from assets.rollouts.leases import Leases
from assets.rollouts.plan import ENDED, LOST, STARTED, rollout_states
from assets.rollouts.process import ProcessId
from assets.rollouts.scheduler import _open_rollouts
from assets.stage import Context, StageCheck
from lake.ids import sha256_hex
from tests.rollouts.handmade import CSV, bundle, state_tasks


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(lake.open(tmp_path / "lake"), Profile(rollouts=RolloutsSection(max_attempts=2)))


def plan(context: Context, *task_ids: str, policies: tuple[str, ...] = ("scripted:strong",)) -> list[PlannedAttempt]:
    rows = state_tasks(context, [bundle(task_id=task_id) for task_id in task_ids])
    return plan_batch(context, purpose="collect", batch="b", tasks=rows, policies=policies, repeats=1, seed=1)


def end(context: Context, attempt: PlannedAttempt, ending: str, kind: str, **more: Any) -> None:
    payload = {
        "attempt_id": attempt.attempt_id, "ending": ending, "ending_kind": kind, "ending_detail": "d", "exit_code": 0,
        "session_id": "s", "model_calls": 3, "upstream_errors": 0, "prefix_breaks": 0, "duration_s": 1.0,
        "final_workspace_id": "w", "files": [], **more,
    }  # fmt: skip
    with context.lake.spool("test") as spool:
        stream = spool.stream("attempt", attempt.attempt_id, next_seq=1)
        stream.emit(STARTED, {"sandbox": "bubblewrap", "pid_namespace": 1})
        stream.emit(ENDED, payload)
    context.lake.commit()


def rows(context: Context) -> list[dict[str, Any]]:
    context.lake.build(STAGE.projection)
    return sorted(context.lake.rows("attempts"), key=lambda row: (row["task_id"], row["attempt_no"]))


def check(context: Context, name: str) -> Any:
    found: StageCheck = next(check for check in STAGE.checks if check.name == name)
    return found.run(context.lake)


def file(path: str, content: bytes, **more: Any) -> dict[str, Any]:
    known = {"path": path, "kind": "file", "sha256": sha256_hex(content), "size": len(content), "mode": 0o644}
    return {**known, "format": "csv", "note": None, **more}


def test_planning_twice_plans_once(context: Context) -> None:
    first = plan(context, "one", "two", policies=("scripted:strong", "scripted:strong@1", "scripted:weak"))
    assert len(first) == 6 and len({attempt.attempt_id for attempt in first}) == 4
    assert plan(context, "one", "two", policies=("scripted:strong", "scripted:weak")) == list(dict.fromkeys(first))
    assert len(list(context.lake.events("attempt.planned"))) == 4


def test_identities_follow_from_what_is_run(context: Context) -> None:
    (one,) = plan(context, "one")
    (task,) = [row for row in context.lake.rows("tasks") if row["task_id"] == "one"]

    def planned(**changes: Any) -> str:
        settings = {"purpose": "collect", "batch": "b", "tasks": [task], "policies": ["scripted:strong"], "repeats": 1}
        (attempt,) = plan_batch(context, **{**settings, "seed": 1, **changes})
        return attempt.rollout_id

    assert planned() == planned(batch="other", purpose="bench") == one.rollout_id
    assert len({planned(), planned(seed=2), planned(policies=["scripted:weak"])}) == 3


def test_a_task_without_a_plan_gets_no_scripted_rollout(context: Context) -> None:
    bare = bundle(task_id="bare")
    without = type(bare)(**{**bare.__dict__, "plan": None})
    tasks = state_tasks(context, [without])
    batch: dict[str, Any] = {"purpose": "collect", "batch": "b", "tasks": tasks, "repeats": 1, "seed": 1}
    assert plan_batch(context, policies=["scripted:strong"], **batch) == []
    assert len(plan_batch(context, policies=["openai:m"], **batch)) == 1


def test_the_first_agent_ending_counts(context: Context) -> None:
    (first,) = plan(context, "one")
    end(context, first, "harness_crash", "infrastructure")
    assert _open_rollouts(context, [first])[0] == [first.again()]
    end(context, first.again(), "gave_up", "agent")
    assert [(row["attempt_no"], row["ending"], row["counted"]) for row in rows(context)] == [
        (0, "harness_crash", False),
        (1, "gave_up", True),
    ]
    todo, counts = _open_rollouts(context, [first])
    assert (todo, dict(counts)) == ([], {"found": 1})


def test_crashes_exhaust_a_rollout_and_dead_endpoints_do_not(context: Context) -> None:
    crashing, unlucky = plan(context, "crashing", "unlucky")
    for attempt, ending in ((crashing, "harness_crash"), (unlucky, "model_endpoint")):
        end(context, attempt, ending, "infrastructure")
    assert len(_open_rollouts(context, [crashing, unlucky])[0]) == 2
    for attempt, ending in ((crashing, "sandbox"), (unlucky, "model_endpoint")):
        end(context, attempt.again(), ending, "infrastructure")
    todo, counts = _open_rollouts(context, [crashing, unlucky])
    assert [(attempt.task_id, attempt.attempt_no) for attempt in todo] == [("unlucky", 2)]
    assert dict(counts) == {"exhausted": 1}


def test_final_files_tell_what_changed(context: Context) -> None:
    (attempt,) = plan(context, "one")
    link = {"path": "link", "kind": "symlink", "sha256": "x", "size": 1, "mode": 0o777, "format": None, "note": None}
    files = [file("data/sales.csv", b"other"), file("new.csv", b"n"), link]
    end(context, attempt, "finished", "agent", files=files)
    context.lake.build(STAGE.projection)
    assert {row["path"]: row["change"] for row in context.lake.rows("final_files")} == {
        "data/sales.csv": "modified",
        "link": "added",
        "new.csv": "added",
        "notes.md": "removed",
    }
    assert sha256_hex(CSV) not in {row["sha256"] for row in context.lake.rows("final_files")}


def test_many_files_go_through_a_payload_blob(context: Context) -> None:
    (attempt,) = plan(context, "one")
    files = [file(f"f{n:04d}.csv", b"%d" % n) for n in range(600)]
    end(context, attempt, "finished", "agent", files=files)
    context.lake.build(STAGE.projection)
    assert context.lake.sql("select count(*) from final_files where change = 'added'").fetchall() == [(600,)]


def test_what_a_dead_runner_left_is_lost_once(context: Context) -> None:
    (attempt,) = plan(context, "one")
    leases = Leases(context.lake.root)
    assert leases.take(attempt.attempt_id) and not leases.take(attempt.attempt_id)
    leases.beat()
    assert reap(context.lake) == 0, "its owner, this process, is alive"
    with leases._open() as connection:
        connection.execute("update leases set started = started - 1")
    assert reap(context.lake) == 1
    assert reap(context.lake) == 0
    (states,) = rollout_states(context.lake).values()
    assert states[0].ending == "lost"
    (lost,) = context.lake.events(LOST)
    assert "is gone" in lost.payload["reason"]
    assert leases.take(attempt.attempt_id)


def test_a_silent_owner_elsewhere_is_dead_after_a_while(context: Context) -> None:
    leases = Leases(context.lake.root)
    leases.take("a")
    with leases._open() as connection:
        connection.execute("update leases set host = 'elsewhere'")
    assert not leases.all()[0].dead()
    with leases._open() as connection:
        connection.execute("update leases set heartbeat = heartbeat - 1000")
    assert leases.all()[0].dead()


def test_the_check_on_rollouts_names_and_can_fail(context: Context) -> None:
    attempts = plan(context, "a", "b", "c", "d")
    rows(context)
    assert check(context, "rollouts_counted").passed, "open rollouts do not block"
    end(context, attempts[0], "finished", "agent")
    end(context, attempts[1], "model_endpoint", "infrastructure")
    rows(context)
    outcome = check(context, "rollouts_counted")
    assert outcome.passed and "b scripted:strong@1: model_endpoint" in outcome.detail and "2 are open" in outcome.detail
    end(context, attempts[2], "sandbox", "infrastructure")
    rows(context)
    assert not check(context, "rollouts_counted").passed


@pytest.mark.parametrize(("errors", "passed"), [(0, False), (2, True)])
def test_the_check_on_prefixes_can_fail(context: Context, errors: int, passed: bool) -> None:
    (attempt,) = plan(context, "one")
    end(context, attempt, "finished", "agent", prefix_breaks=3, upstream_errors=errors)
    rows(context)
    outcome = check(context, "lean_requests_extend")
    assert outcome.passed is passed, outcome.detail


def test_a_process_is_told_from_a_later_one_of_the_same_number() -> None:
    me = ProcessId.of(1)
    assert me is not None and me.alive()
    assert not ProcessId(me.pid, me.started + 1).alive()
    assert ProcessId.of(2**22 + 1) is None
