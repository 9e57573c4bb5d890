"""`rollouts_per_minute`: our attempts against a plain loop of `openclaw agent exec`, same tasks, teacher, concurrency.

The plain loop is what one would write in an afternoon: a folder, a small HTTP server that plays the teacher, a
subprocess. No sandbox, no record of requests, no snapshot, no log; a killed loop starts again from nothing.
"""

from __future__ import annotations

import json
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import lake
from assets import audits, personas, rollouts, skills, tasks, workspaces
from assets.profile import Profile, RolloutsSection, TasksSection
from assets.rollouts.openclaw import config
from assets.rollouts.openclaw.command import MESSAGE_FILE
from assets.rollouts.openclaw.install import Installation, locate
from assets.rollouts.policies import resolve
from assets.rollouts.teacher import CHARACTERS, teacher_policy
from assets.rollouts.teacher.policy import TeacherPolicy
from assets.sandbox.folder import materialise
from assets.stage import Context, run_stage
from assets.tasks import load_bundle
from assets.tasks.bundle import TaskBundle
from benchmarks.measure import Cost, Result, cost, paired

FAMILY = "expense_claims"
TASKS = 8
CONCURRENCY = 2
TIME_LIMIT_S = 180


class _Endpoint(ThreadingHTTPServer):
    """Plays the strong teacher for one rollout on a loopback port."""

    daemon_threads = True

    def __init__(self, policy: TeacherPolicy) -> None:
        self.policy = policy
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Endpoint

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for part in self.server.policy(request, f"chatcmpl-{id(request)}"):
            self.wfile.write(part)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


def _plain(folder: Path, bundle: TaskBundle, installation: Installation) -> None:
    for name in ("ws", "state", "home"):
        (folder / name).mkdir(parents=True)
    materialise(bundle.inputs, folder / "ws")
    (folder / MESSAGE_FILE).write_text(bundle.instruction)
    assert bundle.plan is not None
    endpoint = _Endpoint(teacher_policy(bundle.plan, CHARACTERS["strong@1"], seed=1, repeat=0, task=bundle.task_id))
    threading.Thread(target=endpoint.serve_forever, daemon=True).start()
    settings = config.template("lean", resolve("scripted:strong").model)
    base_url = f"http://127.0.0.1:{endpoint.server_address[1]}/v1"
    (folder / "openclaw.json").write_text(json.dumps(config.render(settings, base_url=base_url, api_key="none")))
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder / "home"),
        "TZ": "UTC",
        "LANG": "C.UTF-8",
        "OPENCLAW_NO_RESPAWN": "1",
        "OPENCLAW_EXEC_SHELL_SNAPSHOT": "0",
    }
    command = [
        str(installation.node), "--disable-warning=ExperimentalWarning", str(installation.entry), "agent", "exec",
        "--message-file", str(folder / MESSAGE_FILE), "--config", str(folder / "openclaw.json"),
        "--cwd", str(folder / "ws"), "--state-dir", str(folder / "state"), "--json", "--timeout", str(TIME_LIMIT_S),
    ]  # fmt: skip
    try:
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=TIME_LIMIT_S + 30)
    finally:
        endpoint.shutdown()


def run(workdir: Path, runs: int) -> Result:
    """Rollouts per minute of wall time at concurrency 2; all of them must end as `finished`."""
    profile = Profile(
        tasks=TasksSection(families=(FAMILY,), seeds_per_family=TASKS),
        rollouts=RolloutsSection(policies=("scripted:strong",), concurrency=CONCURRENCY, time_limit_s=TIME_LIMIT_S),
    )
    opened = lake.open(workdir / "lake")
    context = Context(lake=opened, profile=profile)
    for stage in (personas.STAGE, skills.STAGE, tasks.STAGE, workspaces.STAGE, audits.STAGE):
        run_stage(stage, context)
    rows = audits.accepted_tasks(opened, None)
    bundles = [load_bundle(opened, row) for row in rows]
    installation = locate()
    turn = 0

    def ours() -> Cost:
        nonlocal turn
        turn += 1
        planned = rollouts.plan_batch(
            context, purpose="collect", batch=f"bench{turn}", tasks=rows, policies=["scripted:strong"], repeats=1,
            seed=turn,
        )  # fmt: skip
        outcome: dict[str, int] = {}
        spent = cost(lambda: outcome.update(rollouts.run_batch(context, planned)))
        if outcome.get("finished") != len(planned):
            raise RuntimeError(f"not all of our {len(planned)} attempts finished: {outcome}")
        return spent

    def peer() -> Cost:
        folder = workdir / f"plain{turn}"

        def one(number: int) -> None:
            _plain(folder / str(number), bundles[number], installation)

        with ThreadPoolExecutor(CONCURRENCY) as pool:
            return cost(lambda: list(pool.map(one, range(len(bundles)))))

    return paired(
        "rollouts_per_minute",
        len(bundles),
        "rollouts per minute, wall",
        ours,
        peer,
        peer_is="plain loop of openclaw agent exec, no sandbox, no record",
        runs=runs,
        by_wall=True,
        per=60.0,
        detail={"concurrency": CONCURRENCY, "family": FAMILY},
    )
