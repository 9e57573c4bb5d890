"""What goes wrong around the agent: endpoints, killed and interrupted runners, crash points. Nothing lost or twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import lake
from assets.rollouts import STAGE, attempt_folder, reap
from assets.rollouts.leases import Leases
from assets.rollouts.plan import rollout_states
from assets.rollouts.teacher import CHARACTERS, teacher_policy
from lake.errors import SetupError, StageError
from tests.rollouts.conftest import MakeContext
from tests.rollouts.endpoint import Reply, endpoint
from tests.rollouts.handmade import PLAN, bundle
from tests.rollouts.runs import calls, run

pytestmark = pytest.mark.openclaw


def start(root: Path, *, crash_at: str | None = None) -> subprocess.Popen[str]:
    environment = {key: value for key, value in os.environ.items() if key != "CLAWGYM_CRASH_AT"}
    if crash_at is not None:
        environment["CLAWGYM_CRASH_AT"] = crash_at
    return subprocess.Popen(
        [sys.executable, "-m", "tests.rollouts.runner", str(root), "{}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        # a shell that runs the tests in the background has them ignore Ctrl-C, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> dict[str, int]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    counts: dict[str, int] = json.loads(out.splitlines()[-1])
    return counts


def wait_for_calls(root: Path, number: int) -> Path:
    """Wait until an attempt's proxy has recorded so many calls; its folder."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for log in root.glob("attempts/*/proxy.jsonl"):
            if log.read_bytes().count(b"\n") >= number:
                return log.parent
        time.sleep(0.1)
    raise AssertionError("the attempt does not get going")


def caged(root: Path) -> list[int]:
    """Processes of cages whose command line names something below the lake."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if str(root).encode() in line and line.startswith(b"bwrap"):
            found.append(int(path.parent.name))
    return found


def events(root: Path) -> list[tuple[str, int, str]]:
    """(attempt number, seq, type) of all events of attempts, by stream."""
    numbers: dict[str, int] = {}
    rows = []
    for event in lake.open(root).events(stream_kind="attempt"):
        if event.type == "attempt.planned":
            numbers[event.stream_id] = event.payload["attempt_no"]
        rows.append((numbers[event.stream_id], event.seq, event.type))
    return sorted((number, seq, kind.partition(".")[2]) for number, seq, kind in rows)  # type: ignore[misc]


WHOLE = ["planned", "started", "ended"]


def test_a_killed_runner_takes_its_agent_with_it_and_the_next_goes_on(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    runner = start(root)
    folder = wait_for_calls(root, 2)
    assert caged(root)
    runner.kill()
    runner.wait()
    deadline = time.monotonic() + 5
    while caged(root) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert caged(root) == []

    assert finish(start(root)) == {"finished": 1}
    kinds = [kind for _, _, kind in events(root)]
    assert kinds == ["planned", "started", "lost", *WHOLE]
    assert (folder / "proxy.jsonl").read_bytes().count(b"\n") >= 2, "what there is of the lost attempt's log is kept"
    assert (folder / "state").is_dir()
    rows = lake.open(root).rows("attempts")
    assert [
        (row["attempt_no"], row["ending"], row["counted"]) for row in sorted(rows, key=lambda r: r["attempt_no"])
    ] == [
        (0, "lost", False),
        (1, "finished", True),
    ]
    assert finish(start(root)) == {"found": 1}


def test_what_a_dead_runner_could_not_note_is_killed_too(tmp_path: Path) -> None:
    """A sandbox whose runner died before it wrote down its process and before the kernel knew whom to follow."""
    root = tmp_path / "lake"
    opened = lake.open(root)
    folder = attempt_folder(opened, "a" * 20)
    (folder / "state").mkdir(parents=True)
    command = ["bwrap", "--bind", "/", "/", "--bind", str(folder / "state"), "/tmp", "sleep", "60"]
    orphan = subprocess.Popen(command, start_new_session=True)
    bystander = subprocess.Popen(["sh", "-c", "sleep 60; exit $0", f"{folder}/state"])
    gone = subprocess.Popen(["true"])
    leases = Leases(root)
    assert leases.take("a" * 20)
    gone.wait()
    with closing(sqlite3.connect(root / "control.sqlite")) as connection, connection:
        connection.execute("update leases set pid = ?, started = 1", (gone.pid,))
    try:
        assert reap(opened) == 1
        assert orphan.wait(10) == -signal.SIGKILL
        assert bystander.poll() is None and leases.all() == []
    finally:
        orphan.kill()
        bystander.kill()
        orphan.wait()
        bystander.wait()


def test_ctrl_c_stops_the_agent_and_says_so(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    runner = start(root)
    wait_for_calls(root, 2)
    runner.send_signal(signal.SIGINT)
    out, err = runner.communicate(timeout=60)
    assert runner.returncode != 0 and "KeyboardInterrupt" in err, (runner.returncode, out, err)
    assert caged(root) == []
    assert [kind for _, _, kind in events(root)] == ["planned", "started", "lost"]
    (state,) = next(iter(rollout_states(lake.open(root)).values()))
    assert state.ending == "lost"


@pytest.mark.parametrize(
    ("point", "kinds"),
    [
        ("rollout.after_plan", WHOLE),
        ("rollout.after_run", ["planned", "started", "lost", *WHOLE]),
        ("rollout.after_harvest", WHOLE),
    ],
)
def test_crash_points(tmp_path: Path, point: str, kinds: list[str]) -> None:
    root = tmp_path / "lake"
    runner = start(root, crash_at=point)
    runner.communicate(timeout=300)
    assert runner.returncode == -signal.SIGKILL
    counts = finish(start(root))
    assert counts == ({"found": 1} if point == "rollout.after_harvest" else {"finished": 1})
    assert [kind for _, _, kind in events(root)] == kinds


def one_row(context: Any) -> dict[str, Any]:
    rows: list[dict[str, Any]] = context.lake.rows("attempts")
    return max(rows, key=lambda row: row["attempt_no"])


def test_a_real_endpoint_with_hiccups(make_context: MakeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = teacher_policy(PLAN, CHARACTERS["strong@1"], seed=1, repeat=0, task="t")

    def answer(number: int, body: dict[str, Any]) -> Reply:
        return Reply(429, b"{}") if number % 3 == 1 else Reply(body=b"".join(policy(body, f"chatcmpl-{number}")))

    with endpoint(answer) as up:
        monkeypatch.setenv("OPENAI_BASE_URL", up.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
        context = make_context()
        run(context, [bundle()], ["openai:some/model"])
        assert {json.loads(body)["model"] for body in up.bodies} == {"some/model"}
        assert {json.loads(body)["seed"] for body in up.bodies} == {1000}
    row = one_row(context)
    assert (row["ending"], row["policy_kind"], row["prefix_breaks"]) == ("finished", "endpoint", 0)
    assert row["upstream_errors"] >= 2
    records = calls(context, row["attempt_id"])
    assert len(records) == row["model_calls"] + row["upstream_errors"]
    written = b"".join(
        p.read_bytes() for p in attempt_folder(context.lake, row["attempt_id"]).rglob("*") if p.is_file()
    )
    assert b"sk-very-secret" not in written


def test_a_bad_endpoint_is_named_at_once(make_context: MakeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Reply(body=b"<html>It works!</html>", content_type="text/html")
    with endpoint(lambda n, body: page) as up:
        monkeypatch.setenv("OPENAI_BASE_URL", up.base_url)
        context = make_context(max_attempts=1)
        ran = run(context, [bundle()], ["openai:m"])
        assert len(up.bodies) == 1
    row = one_row(context)
    assert (row["ending"], row["ending_kind"], row["counted"]) == ("model_endpoint", "infrastructure", False)
    assert "nonsense" in row["ending_detail"] and ran.counts == {"model_endpoint": 1}
    outcome = next(check for check in STAGE.checks if check.name == "rollouts_counted").run(context.lake)
    assert not outcome.passed and "handmade-s0001 openai:m: model_endpoint" in outcome.detail


def test_a_dead_endpoint_stops_the_batch_and_the_next_run_goes_on(
    make_context: MakeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assets.rollouts.proxy.gate.WAITS_S", (0.05,))
    monkeypatch.setattr("assets.rollouts.scheduler._GIVE_UP_AFTER", 1)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    context = make_context(max_attempts=1)
    bundles = [bundle(task_id="one"), bundle(task_id="two")]
    with pytest.raises(StageError, match=r"ConnectError.*2 tries.*run again"):
        run(context, bundles, ["openai:m"])
    assert len(list(context.lake.root.glob("attempts/*"))) == 1, "the second rollout was not started"

    policy = teacher_policy(PLAN, CHARACTERS["strong@1"], seed=1, repeat=0, task="t")
    with endpoint(lambda n, body: Reply(body=b"".join(policy(body, f"c{n}")))) as up:
        monkeypatch.setenv("OPENAI_BASE_URL", up.base_url)
        assert run(context, bundles, ["openai:m"]).counts == {"finished": 2}


def test_what_is_missing_is_said_before_anything_runs(
    make_context: MakeContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    context = make_context()
    monkeypatch.setenv("CLAWGYM_OPENCLAW", str(tmp_path))
    with pytest.raises(SetupError, match="OpenClaw is not in"):
        run(context, [bundle()])
    monkeypatch.delenv("CLAWGYM_OPENCLAW")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="bubblewrap"):
        run(context, [bundle()])
    assert not (context.lake.root / "attempts").exists()


def test_without_a_cage_it_runs_and_warns(make_context: MakeContext, capfd: pytest.CaptureFixture[str]) -> None:
    context = make_context(sandbox="process", tools="process")
    run(context, [bundle()])
    row = one_row(context)
    assert (row["ending"], row["sandbox"]) == ("finished", "process"), row["ending_detail"]
    assert "WITHOUT ISOLATION" in capfd.readouterr().err
    # The other tool profile: the process tool is offered, and requests need not extend each other.
    assert row["prefix_breaks"] is None
    tools = json.loads(calls(context, row["attempt_id"])[0].request)["tools"]
    assert "process" in [tool["function"]["name"] for tool in tools]
