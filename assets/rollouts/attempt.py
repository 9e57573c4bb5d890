"""One attempt from an empty folder to its last event: cage, proxy, agent, watch, ending, frozen workspace.

Belongs here: the course of one attempt. Does not belong here: which attempts are run, leases, retries
(`scheduler.py`); what an ending means (`openclaw/outcome.py`).
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assets.llm.account import Account
from assets.profile import RolloutsSection
from assets.rollouts.cage import BRIDGE_PORT, Cage, Contents
from assets.rollouts.openclaw import config
from assets.rollouts.openclaw.command import MESSAGE_FILE, agent_command
from assets.rollouts.openclaw.install import Installation
from assets.rollouts.openclaw.outcome import AgentEnding, Ending, InfrastructureEnding, Remains, ending_of
from assets.rollouts.openclaw.state import read_session
from assets.rollouts.plan import ENDED, LOST, STARTED, PlannedAttempt
from assets.rollouts.policies import Part, resolve, upstream
from assets.rollouts.process import AgentProcess, Exit, ProcessId
from assets.rollouts.proxy.gate import Caps, Gate
from assets.rollouts.proxy.server import Door, ProxyServer
from assets.sandbox.folder import FileEntry, materialise, snapshot
from assets.tasks.formats import format_of
from lake import Lake, crash, leftovers
from lake.ids import Json, canonical
from lake.spool import Spool, Stream

_LATER_S = 5.0
"""How long after OpenClaw's own deadline the outer one comes."""
_LOOK_EVERY_S = 2.0
_READ_LIMIT = 4 * 1024 * 1024


@dataclass(frozen=True)
class Machinery:
    """What all attempts of a batch share."""

    lake: Lake
    settings: RolloutsSection
    cage: Cage
    installation: Installation
    proxy: ProxyServer
    interrupted: threading.Event
    """Set when running attempts are to be given up."""
    account: Account | None = None
    """What pays for endpoint policies; null where the batch has none."""


class GivenUpError(Exception):
    """The attempt was given up because its runner is stopping."""


def attempt_folder(lake: Lake, attempt_id: str) -> Path:
    """Folder of an attempt: `state/` (OpenClaw's), `workspace/`, `proxy.jsonl`, `stdout.json`, `stderr.txt`.

    It stays until the logs stage has ingested it.
    """
    return leftovers.attempt_folder(lake.root, attempt_id)


def run_attempt(
    machinery: Machinery,
    planned: PlannedAttempt,
    task: Mapping[str, Any],
    inputs: Mapping[str, bytes],
    spool: Spool,
    on_agent: Callable[[ProcessId | None], None],
) -> Ending | None:
    """Run it and state its events, the first one being number 1 of its stream.

    Args:
        task: row of `tasks`.
        inputs: workspace path to content of the untouched workspace.
        on_agent: told which process to kill should this runner die.

    Returns:
        The ending, or null when it was given up (`attempt.lost`).
    """
    stream = spool.stream("attempt", planned.attempt_id, next_seq=1)
    folder = attempt_folder(machinery.lake, planned.attempt_id)
    if folder.exists():
        stream.emit(LOST, {"reason": f"an earlier run left {folder.name} behind without an end"})
        return None
    contents, passing = _lay_out(machinery, folder, planned, task, inputs)
    try:
        return _run(machinery, planned, task, folder, contents, spool, stream, on_agent)
    except GivenUpError:
        stream.emit(LOST, {"reason": "interrupted"})
        return None
    finally:
        shutil.rmtree(passing, ignore_errors=True)
        shutil.rmtree(contents.scratch, ignore_errors=True)


def _lay_out(
    machinery: Machinery,
    folder: Path,
    planned: PlannedAttempt,
    task: Mapping[str, Any],
    inputs: Mapping[str, bytes],
) -> tuple[Contents, Path]:
    """Make the folder of an attempt, and a passing one with a short path (a socket's holds 107 bytes)."""
    for path in (folder / "workspace", folder / "state", folder / "scratch"):
        path.mkdir(parents=True, exist_ok=True)
    materialise(inputs, folder / "workspace")
    (folder / "state" / MESSAGE_FILE).write_text(str(task["instruction"]), "utf-8")
    (folder / "attempt.json").write_text(canonical(planned.payload()) + "\n", "utf-8")
    passing = Path(tempfile.mkdtemp(prefix="clawgym-"))
    (passing / "kit").mkdir()
    contents = Contents(
        installation=machinery.installation,
        workspace=folder / "workspace",
        state=folder / "state",
        scratch=folder / "scratch",
        config=folder / "openclaw.json",
        cache=machinery.installation.compile_cache(machinery.lake.root / "cache" / "node"),
        socket=passing / "model.sock",
        kit=passing / "kit",
    )
    return contents, passing


def _run(
    machinery: Machinery,
    planned: PlannedAttempt,
    task: Mapping[str, Any],
    folder: Path,
    contents: Contents,
    spool: Spool,
    stream: Stream,
    on_agent: Callable[[ProcessId | None], None],
) -> Ending:
    policy = resolve(planned.policy)
    plan = None if task["plan"] is None else json.loads(task["plan"])
    part = Part(planned.task_id, planned.task_version, plan, planned.seed, planned.repeat)
    settings = machinery.settings
    gate = Gate(
        planned.attempt_id,
        policy=policy.name,
        model=policy.model.model,
        upstream=upstream(policy, part),
        caps=Caps(settings.turn_limit, settings.token_limit),
        records=folder / "proxy.jsonl",
        account=machinery.account if policy.kind == "endpoint" else None,
    )
    door = machinery.proxy.open(gate, contents.socket, loopback=not machinery.cage.isolates)
    begun = time.monotonic()
    try:
        process = _start(machinery, planned, folder, contents, door)
        on_agent(process.leader)
        try:
            stream.emit(STARTED, {"sandbox": machinery.cage.kind, "pid_namespace": process.namespace})
            spool.sync()
            stopped, silent_s = _watch(machinery, process, gate, contents, begun)
        except BaseException:
            process.stop()
            raise
        end = process.finish() if stopped is None else process.stop()
    finally:
        machinery.proxy.close_door(door)
    duration_s = time.monotonic() - begun
    crash.point("rollout.after_run")
    remains = _remains(machinery, folder, contents, end, gate, stopped, silent_s)
    ending = _harvest(machinery, planned, contents, spool, stream, remains, gate, duration_s)
    spool.seal()
    crash.point("rollout.after_harvest")
    return ending


def _start(machinery: Machinery, planned: PlannedAttempt, folder: Path, contents: Contents, door: Door) -> AgentProcess:
    port = BRIDGE_PORT if door.port is None else door.port
    key = "local" if door.port is None else door.token
    rendered = config.render(dict(planned.config), base_url=f"http://127.0.0.1:{port}/v1", api_key=key)
    contents.config.write_text(json.dumps(rendered, indent=1) + "\n", "utf-8")
    machinery.cage.prepare(contents)
    argv = agent_command(machinery.cage.places(contents), timeout_s=machinery.settings.time_limit_s)
    return AgentProcess(
        lambda status_fd: machinery.cage.command(contents, argv, status_fd),
        stdout=folder / "stdout.json",
        stderr=folder / "stderr.txt",
        isolated=machinery.cage.isolates,
        cwd=contents.workspace,
    )


def _watch(
    machinery: Machinery, process: AgentProcess, gate: Gate, contents: Contents, begun: float
) -> tuple[tuple[AgentEnding | InfrastructureEnding, str] | None, float]:
    """Wait for the agent; why it has to be stopped, if it has to, and how long the endpoint was silent then.

    Raises:
        GivenUpError: the runner is stopping.
    """
    settings = machinery.settings
    next_look = begun + _LOOK_EVERY_S
    while not process.wait(0.1):
        now = time.monotonic()
        if machinery.interrupted.is_set():
            raise GivenUpError
        if gate.stop is not None:
            return (gate.stop.reason, gate.stop.detail), 0.0
        if now - begun > settings.time_limit_s + _LATER_S:
            waiting = gate.waiting_since
            return (
                ("time_limit", f"the time limit of {settings.time_limit_s:g} s passed"),
                0.0 if waiting is None else now - waiting,
            )
        if now >= next_look:
            next_look = now + _LOOK_EVERY_S
            size = folder_size(contents.workspace) + folder_size(contents.scratch)
            if size > settings.workspace_limit_bytes:
                return ("workspace_limit", f"{size} bytes written, over {settings.workspace_limit_bytes}"), 0.0
    last = gate.last
    unanswered = last is not None and last.first_byte_s is None and last.error is not None
    return None, last.duration_s if last is not None and unanswered else 0.0


def _remains(
    machinery: Machinery,
    folder: Path,
    contents: Contents,
    end: Exit,
    gate: Gate,
    stopped: tuple[AgentEnding | InfrastructureEnding, str] | None,
    silent_s: float,
) -> Remains:
    # The gate may have found the endpoint dead in the very moment the agent ended by itself.
    if stopped is None and gate.stop is not None:
        stopped = gate.stop.reason, gate.stop.detail
    return Remains(
        exit_code=end.exit_code,
        stdout=_head(folder / "stdout.json"),
        stderr=_head(folder / "stderr.txt"),
        session=read_session(folder / "state"),
        stopped=stopped,
        sandbox_failed=not end.started,
        failed_commands=machinery.cage.failed_commands(contents),
        last_call=gate.last,
        last_answer=gate.last_answer,
        silent_s=silent_s,
        time_limit_s=machinery.settings.time_limit_s,
    )


def _harvest(
    machinery: Machinery,
    planned: PlannedAttempt,
    contents: Contents,
    spool: Spool,
    stream: Stream,
    remains: Remains,
    gate: Gate,
    duration_s: float,
) -> Ending:
    """Freeze the workspace and state the end. Nothing of the attempt runs any more."""
    ending = ending_of(remains)
    limit = machinery.settings.workspace_limit_bytes
    frozen = snapshot(contents.workspace, limit_bytes=limit)
    if frozen.truncated and ending.kind == "agent" and ending.ending != "workspace_limit":
        ending = Ending("workspace_limit", f"the workspace is over {limit} bytes or its count of files is too large")
    for entry in frozen.files:
        if entry.data is not None:
            spool.put_blob(entry.data)
    lean = "process" in planned.config["tools"].get("deny", ())
    stream.emit(
        ENDED,
        {
            "attempt_id": planned.attempt_id,
            "ending": ending.ending,
            "ending_kind": ending.kind,
            "ending_detail": ending.detail,
            "exit_code": remains.exit_code,
            "session_id": remains.session.session_id if remains.session else None,
            "model_calls": gate.calls,
            "upstream_errors": gate.upstream_errors,
            "prefix_breaks": gate.prefix_breaks if lean else None,
            "duration_s": round(duration_s, 3),
            "final_workspace_id": frozen.workspace_id,
            "files": [_manifest_entry(entry) for entry in frozen.files],
        },
    )
    return ending


def _manifest_entry(entry: FileEntry) -> dict[str, Json]:
    named = entry.kind == "file" and entry.data is not None
    return {
        "path": entry.path,
        "kind": entry.kind,
        "sha256": entry.sha256,
        "size": entry.size,
        "mode": entry.mode,
        "format": format_of(entry.path, entry.data) if named and entry.data is not None else None,
        "note": entry.note,
    }


def folder_size(folder: Path) -> int:
    """Bytes of the plain files below a folder that something may be writing to; links are not followed."""
    total, waiting = 0, [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return total


def _head(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(_READ_LIMIT).decode("utf-8", "replace")
