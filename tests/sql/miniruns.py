"""Runs of the synthetic lake: what an agent did, step by step, and every row that follows from it.

Belongs here: attempts, steps, calls, verdicts, samples and training rows. Does not belong here: tasks (`minitasks.py`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lake.ids import Json, canonical, digest, event_id, record_key, sha256_hex
from tests.sql.minitasks import CHECKS, Task

if TYPE_CHECKING:
    from tests.sql.minilake import Sink

HOSTILE = (
    "Done. <script>alert('x')</script> **not bold** [click](http://example.invalid/) $x^2$ :red[red] "
    "![i](http://example.invalid/i.png)"
)
"""What an agent might write to attack the reader of a page; must show up as these very characters."""

SPOILED = b"# notes\n\nAmounts are in euro.\n<img src=x onerror=alert(1)>\n"
"""An input as an agent might leave it."""

SYSTEM = "You are a personal assistant working in a folder."
TOOLS = canonical(
    [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
        for name in ("edit", "exec", "read", "write")
    ]
)


@dataclass(frozen=True)
class Call:
    """One tool call and its result."""

    tool: str
    arguments: dict[str, Json]
    phase: str
    target: str
    result: str
    error_source: str | None = None
    exit_code: int | None = None


@dataclass
class Run:
    """One attempt, with or without a trajectory."""

    number: int
    task: Task
    policy: str
    purpose: str
    ending: str
    attempt_no: int = 0
    counted: bool = True
    messages: list[list[Call]] = field(default_factory=list)
    final_text: str = "Done: output/summary.json and output/report.md are written."
    passed: int = len(CHECKS)
    status: str = "scored"
    klass: str = "normal"

    @property
    def rollout_id(self) -> str:
        return digest("rollout", self.number)

    @property
    def attempt_id(self) -> str:
        return digest(self.rollout_id, self.attempt_no)

    @property
    def session_id(self) -> str:
        return f"session-{self.number:06d}-{self.attempt_no}"

    @property
    def source_id(self) -> str:
        return sha256_hex(self.session_id)

    @property
    def proxy_source_id(self) -> str:
        return sha256_hex(f"proxy/{self.attempt_id}")

    @property
    def trajectory_id(self) -> str:
        return digest(self.source_id, "leaf")

    @property
    def calls(self) -> int:
        return sum(len(message) for message in self.messages)

    @property
    def score(self) -> float | None:
        return None if self.status != "scored" else self.task.reward(self.passed)

    @property
    def ran(self) -> bool:
        return self.ending != "sandbox"

    @property
    def kept(self) -> bool:
        return self.decision == "kept"

    @property
    def decision(self) -> str:
        if not self.counted:
            return "not_counted"
        if self.task.split != "train" or self.purpose != "collect":
            return "not_train_split"
        if self.klass != "normal":
            return "abnormal_class"
        if self.score is None:
            return "no_verdict"
        return "kept" if self.score >= 0.5 else "below_threshold"

    def files(self) -> dict[str, bytes]:
        """The final workspace."""
        good, bad = _outputs(self.task)
        outputs = good if self.passed == len(CHECKS) else bad
        return {**self.task.inputs, **(outputs if self.passed else {})}


def plan(tasks: Sequence[Task], n: int, seed: int) -> list[Run]:
    """`n` runs that leave a trajectory, and in between some that never came to run."""
    usable = [task for task in tasks if task.accepted]
    runs: list[Run] = []
    for number in range(n):
        rng = random.Random(f"{seed}/run/{number}")
        task = usable[number % len(usable)]
        lap = number // len(usable)
        bench = task.split is not None and task.split.startswith("bench:")
        policies = ["scripted:strong@1", "scripted:weak@1"] + (["checkpoint:9f2c4e6a8b0d1f3a5c7e"] if bench else [])
        run = Run(number, task, policies[(number + lap) % len(policies)], "bench" if bench else "collect", "finished")
        if number % 12 == 5:
            runs.append(Run(number, task, run.policy, run.purpose, "sandbox", counted=False))
            run.attempt_no = 1
        _act(run, rng)
        runs.append(run)
    return runs


def _act(run: Run, rng: random.Random) -> None:
    """What the policy does: the better it is, the more it looks and checks and the less it errs."""
    skill = {"scripted:strong@1": 0.95, "scripted:weak@1": 0.55}.get(run.policy, 0.1)
    summary, report = "output/summary.json", "output/report.md"
    good, bad = _outputs(run.task)
    run.messages = [[_exec("ls -R .", "explore", "ls", "./input:\nnotes.md\nrecords.csv")]]
    if rng.random() > skill:
        wrong = _read("input/record.csv", "ENOENT: no such file or directory, open 'input/record.csv'", "is_error")
        run.messages += [[wrong]] * (1 if rng.random() < skill else 2)
        if rng.random() < skill:
            run.messages.append([_read("input/record.csv", "id,date,status,amount")])
    records = run.task.inputs["input/records.csv"].decode()
    run.messages.append([_read("input/records.csv", records), _read("input/notes.md", "# notes\n")])
    if skill > 0.2:
        content = (good if rng.random() < skill else bad)[summary].decode()
        run.messages.append([Call("write", {"content": content, "path": summary}, "write", summary, "Wrote 34 bytes")])
        run.messages.append([Call("write", {"content": "x\n", "path": report}, "write", report, "Wrote 2 bytes")])
    if rng.random() < skill:
        failed = rng.random() > skill
        run.messages.append(
            [
                _exec(
                    f"python3 -m json.tool {summary}", "check", "python3",
                    "(Command exited with code 1)" if failed else '{"total": 1}', 1 if failed else 0,
                )
            ]
        )  # fmt: skip
        if failed:
            run.messages.append(
                [Call("edit", {"path": summary, "oldText": "0", "newText": "1"}, "edit", summary, "ok")]
            )
            run.messages.append([_exec(f"python3 -m json.tool {summary}", "check", "python3", '{"total": 1}', 0)])
    for _ in range(rng.randint(0, 6) if skill > 0.9 else rng.randint(0, 3)):
        run.messages.append([_read(rng.choice(("input/records.csv", summary, report)), "…")])
    run.passed = len(CHECKS) if rng.random() < skill else rng.randint(0, 5) if skill > 0.2 else 0
    run.final_text = HOSTILE if run.number == 3 else run.final_text
    _finish(run, rng)


def _finish(run: Run, rng: random.Random) -> None:
    if run.number % 17 == 16:
        run.ending, run.klass = "turn_limit", "truncated"
    elif run.number % 23 == 22:
        run.ending, run.klass = "time_limit", "aborted"
    if run.number % 19 == 18:
        run.status = "verifier_error"
    if "checkpoint" in run.policy and rng.random() < 0.5:
        run.ending = "malformed_call"


def _exec(command: str, phase: str, program: str, result: str, exit_code: int = 0) -> Call:
    source = "exit_code" if exit_code else None
    return Call("exec", {"command": command}, phase, program, result, source, exit_code)


def _read(path: str, result: str, error: str | None = None) -> Call:
    return Call("read", {"path": path}, "read", path, result, error)


def _outputs(task: Task) -> tuple[dict[str, bytes], dict[str, bytes]]:
    good = {"count": 5, "total": 1000 + task.seed + 0.5}
    bad = {"count": 8, "total": 2000 + task.seed}
    report = f"# {task.family}\n\n- first\n- second\n".encode()
    return (
        {"output/report.md": report, "output/summary.json": canonical(good).encode()},
        {"output/summary.json": canonical(bad).encode()},
    )


def final_contents(tasks: Sequence[Task]) -> list[bytes]:
    """Every content a final workspace may hold beyond the inputs."""
    return sorted({SPOILED, *(data for task in tasks for outputs in _outputs(task) for data in outputs.values())})


def write(sink: Sink, run: Run, at: datetime, *, raw: bool) -> None:
    """All rows of one run."""
    sink.add("attempts", [_attempt(run, at)])
    _attempt_events(sink, run, at)
    if run.ran:
        sink.add("final_files", _final_files(run))
        sink.add("verdicts", _verdicts(run, at))
        _trajectory(sink, run, at, raw=raw)


def _attempt(run: Run, at: datetime) -> dict[str, Json]:
    return {
        "attempt_id": run.attempt_id, "rollout_id": run.rollout_id, "attempt_no": run.attempt_no,
        "counted": run.counted, "purpose": run.purpose, "batch": "mini", "task_id": run.task.task_id,
        "task_version": run.task.version, "policy": run.policy, "policy_kind": run.policy.split(":")[0],
        "harness": "openclaw@2026.9.6", "config_fingerprint": digest("config"), "seed": 1, "repeat": 0,
        "state": "ended", "ending": run.ending, "ending_kind": "agent" if run.ran else "infrastructure",
        "ending_detail": None if run.ran else "bwrap: setting up uid map: Permission denied",
        "exit_code": 0 if run.ran else 1, "session_id": run.session_id if run.ran else None,
        "model_calls": len(run.messages) + 1 if run.ran else 0, "initial_workspace_id": run.task.workspace_id,
        "final_workspace_id": digest(run.attempt_id, "final") if run.ran else None, "planned_at": at,
        "started_at": at, "ended_at": at + timedelta(seconds=4 + run.calls), "duration_s": 4.0 + run.calls,
        "event_id": event_id("attempt", run.attempt_id, 2),
    }  # fmt: skip


def _final_files(run: Run) -> list[dict[str, Json]]:
    """The final workspace against the initial one; every seventh run also spoils and removes an input."""
    final = run.files()
    changes = {path: "unchanged" if path in run.task.inputs else "added" for path in final}
    if run.number % 7 == 3:
        final["input/notes.md"], changes["input/notes.md"] = SPOILED, "modified"
        changes["input/records.csv"] = "removed"
    return [
        {
            "attempt_id": run.attempt_id, "path": path, "kind": "file", "change": change,
            "sha256": None if change == "removed" else sha256_hex(final[path]),
            "size": 0 if change == "removed" else len(final[path]), "mode": 0 if change == "removed" else 0o644,
            "format": path.rsplit(".", 1)[-1], "note": None, "event_id": event_id("attempt", run.attempt_id, 2),
        }
        for path, change in sorted(changes.items())
    ]  # fmt: skip


def _attempt_events(sink: Sink, run: Run, at: datetime) -> None:
    from tests.sql.minilake import event

    types = ("attempt.planned", "attempt.started", "attempt.ended")
    payloads: tuple[dict[str, Json], ...] = (
        {"task_id": run.task.task_id, "policy": run.policy}, {"sandbox": "bubblewrap"}, {"ending": run.ending},
    )  # fmt: skip
    for seq, (name, payload) in enumerate(zip(types, payloads, strict=True)):
        sink.add(
            "events",
            [
                event(
                    "attempt",
                    run.attempt_id,
                    seq,
                    name,
                    at + timedelta(seconds=seq),
                    {"attempt_id": run.attempt_id, **payload},
                )
            ],
        )


def _verdicts(run: Run, at: datetime) -> list[dict[str, Json]]:
    versions = [run.task.verifier_version]
    if run.number % 10 == 4:
        versions.insert(0, digest(run.task.family, "older check.py", length=16))
    rows = []
    for index, version in enumerate(versions):
        scored = run.status == "scored"
        passed = run.passed if index == len(versions) - 1 else max(0, run.passed - 1)
        checks = {name: float(position < passed) for position, name in enumerate(CHECKS)} if scored else {}
        score = run.task.reward(passed) if scored else None
        identity = digest(run.attempt_id, version, "none")
        rows.append(
            {
                "verdict_id": identity, "attempt_id": run.attempt_id, "task_id": run.task.task_id,
                "task_version": run.task.version, "workspace_id": digest(run.attempt_id, "final"),
                "verifier_version": version, "judge_version": "none", "status": run.status, "score_code": score,
                "score_rubric": None, "score": score, "wrapper_score": run.task.wrapper(passed) if scored else None,
                "verifier_reward": score if run.task.protocol == "reward_booleans" else None,
                "checks_passed": passed if scored else None, "checks_total": len(CHECKS) if scored else None,
                "checks": canonical(checks), "detail": None if scored else "KeyError: 'amount' in check.py, line 9",
                "is_latest": index == len(versions) - 1, "graded_at": at + timedelta(minutes=1 + index),
                "duration_s": 0.09, "event_id": event_id("verdict", identity, 0),
            }
        )  # fmt: skip
    return rows


@dataclass
class _Writer:
    """Collects steps and raw records of one source, in order."""

    source_id: str
    session_id: str
    attempt_id: str | None
    trajectory_id: str
    at: datetime
    steps: list[dict[str, Json]] = field(default_factory=list)
    raws: list[dict[str, Json]] = field(default_factory=list)

    def step(self, role: str, text: str, **more: Json) -> int:
        position = len(self.steps)
        key = record_key(self.source_id, 0, position)
        ts = self.at + timedelta(seconds=position)
        self.steps.append(
            {"trajectory_id": self.trajectory_id, "step": position, "role": role, "text": text, "call_count": 0,
             "ts": ts, "record_key": key, **more}
        )  # fmt: skip
        data = canonical({"role": role, "text": text}).encode()
        self.raws.append(
            {
                "record_key": key, "source_id": self.source_id, "version": 0, "position": position,
                "source_kind": "openclaw.transcript", "source_path": "agents/main/agent/openclaw-agent.sqlite",
                "session_id": self.session_id, "attempt_id": self.attempt_id, "raw": data, "raw_size": len(data),
                "raw_sha256": sha256_hex(data), "encoding": "identity", "record_type": "message", "ts": ts,
                "record_id": f"r{position}", "parent_id": f"r{position - 1}" if position else None,
                "parse_status": "ok", "ingested_at": ts,
            }
        )  # fmt: skip
        return position


def _trajectory(sink: Sink, run: Run, at: datetime, *, raw: bool) -> None:
    writer = _Writer(run.source_id, run.session_id, run.attempt_id, run.trajectory_id, at)
    writer.step("system", SYSTEM)
    writer.step("user", run.task.instruction)
    calls: list[dict[str, Json]] = []
    for turn, message in enumerate(run.messages):
        tokens = {"input_tokens": 900 + 120 * turn, "output_tokens": 60 + 20 * len(message)}
        at_step = writer.step(
            "assistant", "Let me look." if turn == 0 else "", thinking="The inputs first." if turn == 1 else None,
            call_count=len(message), stop_reason="toolUse", model=run.policy, response_id=f"{run.attempt_id}-{turn}",
            usage=canonical(tokens), proxy_record_key=record_key(run.proxy_source_id, 0, turn), **tokens,
        )  # fmt: skip
        for index, call in enumerate(message):
            result = writer.step(
                "tool", call.result, tool_call_id=f"call_{turn}_{index}", is_error=call.error_source is not None
            )
            calls.append(_call_row(run, call, at_step, index, turn, result))
    writer.step(
        "assistant", run.final_text, stop_reason="stop", model=run.policy,
        response_id=f"{run.attempt_id}-{len(run.messages)}", input_tokens=2400, output_tokens=24,
        usage="{}", proxy_record_key=record_key(run.proxy_source_id, 0, len(run.messages)),
    )  # fmt: skip
    row = _trajectory_row(run, writer.steps, calls)
    sink.add("trajectories", [row])
    sink.add("steps", writer.steps)
    sink.add("tool_calls", calls)
    sink.add("samples", [_sample(run, step, number) for number, step in _assistants(writer.steps)])
    _cleaning(sink, run, writer)
    _sft(sink, run, row)
    if raw:
        sink.add("raw_records", writer.raws)
        sink.add("raw_records", [_proxy_record(run, step, number) for number, step in _assistants(writer.steps)])


def _proxy_record(run: Run, step: dict[str, Json], call: int) -> dict[str, Json]:
    """The proxy's record of one model call, in the shape of `proxy.jsonl` but without the conversation."""
    ts = step["ts"]
    data = canonical(
        {
            "type": "proxy.call", "record_id": f"{run.attempt_id}/{call}.0", "attempt_id": run.attempt_id,
            "call": call, "retry": 0, "policy": run.policy, "upstream": run.policy, "started_at": ts.isoformat(),
            "first_byte_s": 0.004, "duration_s": 0.01 + call / 1000, "status": 200, "error": None, "delivered": True,
            "finish_reason": "stop" if step["stop_reason"] == "stop" else "tool_calls",
            "response_id": step["response_id"],
            "usage": {"prompt_tokens": step["input_tokens"], "completion_tokens": step["output_tokens"]},
            "request": {"size": 9000 + 700 * call, "shared": 8800 if call else 0}, "response": {"size": 640},
        }
    ).encode()  # fmt: skip
    return {
        "record_key": step["proxy_record_key"], "source_id": run.proxy_source_id, "version": 0, "position": call,
        "source_kind": "proxy.call", "source_path": f"attempts/{run.attempt_id}/proxy.jsonl",
        "session_id": run.session_id, "attempt_id": run.attempt_id, "raw": data, "raw_size": len(data),
        "raw_sha256": sha256_hex(data), "encoding": "identity", "record_type": "proxy.call",
        "record_id": f"{run.attempt_id}/{call}.0", "ts": ts, "parse_status": "ok", "ingested_at": ts,
    }  # fmt: skip


def _call_row(run: Run, call: Call, step: int, index: int, turn: int, result: int) -> dict[str, Json]:
    return {
        "trajectory_id": run.trajectory_id, "step": step, "call_index": index,
        "tool_call_id": f"call_{turn}_{index}", "tool": call.tool, "arguments": canonical(call.arguments),
        "phase": call.phase, "target": call.target, "result_step": result, "result_chars": len(call.result),
        "is_error": call.error_source is not None, "error_source": call.error_source, "exit_code": call.exit_code,
        "duration_ms": 12 + 3 * turn, "record_key": record_key(run.source_id, 0, step),
        "result_record_key": record_key(run.source_id, 0, result),
    }  # fmt: skip


def _assistants(steps: list[dict[str, Json]]) -> list[tuple[int, dict[str, Json]]]:
    return list(enumerate(step for step in steps if step["role"] == "assistant"))


def _trajectory_row(run: Run, steps: list[dict[str, Json]], calls: list[dict[str, Json]]) -> dict[str, Json]:
    messages = canonical([{"role": step["role"], "content": step["text"]} for step in steps])
    answers = [step for step in steps if step["role"] == "assistant"]
    return {
        "trajectory_id": run.trajectory_id, "session_id": run.session_id, "source_id": run.source_id,
        "attempt_id": run.attempt_id, "task_id": run.task.task_id, "policy": run.policy, "branch": 0,
        "class": run.klass, "model": run.policy, "turns": len(answers), "user_turns": 1, "tool_calls": len(calls),
        "tool_types": len({call["tool"] for call in calls}), "tool_errors": sum(bool(c["is_error"]) for c in calls),
        "input_tokens": sum(step["input_tokens"] for step in answers),
        "output_tokens": sum(step["output_tokens"] for step in answers), "text_tokens": len(messages) // 4,
        "started_at": steps[0]["ts"], "ended_at": steps[-1]["ts"], "messages": messages, "tools": TOOLS,
        "context_differs": 0.0, "rules": ["drop_cache_ttl@1", "strip_runtime_line@1"],
        "secrets_masked": 1 if run.number % 11 == 0 else 0,
    }  # fmt: skip


def _sample(run: Run, step: dict[str, Json], number: int) -> dict[str, Json]:
    return {
        "trajectory_id": run.trajectory_id, "call": number, "step": step["step"], "kind": "main",
        "parent_call": number - 1 if number else None, "shared_messages": 2 * number if number else None,
        "transient_messages": 0, "prompt_messages": "[]", "completion": "{}", "finish_reason": "tool_calls",
        "status": 200, "response_id": step["response_id"], "record_key": step["proxy_record_key"],
    }  # fmt: skip


def _cleaning(sink: Sink, run: Run, writer: _Writer) -> None:
    common = {"source_id": run.source_id, "version": 0, "session_id": run.session_id, "attempt_id": run.attempt_id}
    found = [("strip_runtime_line", 1, "info", "repaired", "runtime line removed from the first user message")]
    if run.number % 11 == 0:
        found.append(("mask_secret", 1, "warning", "masked", "1 value that looks like an API key"))
    if run.number % 9 == 8:
        found.append(("orphan_result", 3, "warning", "noted", "result without a call"))
    sink.add(
        "diagnostics",
        (
            {
                **common, "position": position, "line": position + 1, "rule": rule, "rule_version": 1, "ordinal": 0,
                "severity": severity, "action": action, "trajectory_id": run.trajectory_id, "detail": detail,
                "record_key": record_key(run.source_id, 0, position),
            }
            for rule, position, severity, action, detail in found
        ),
    )  # fmt: skip
    sink.add(
        "ledger",
        (
            {**common, "source_kind": "openclaw.transcript", "disposition": "kept", "rule": rule, "records": records}
            for rule, records in (("metadata", 1), ("step", len(writer.steps) - 1))
        ),
    )
    evidence = {"source_id": run.proxy_source_id, "source_kind": "proxy.call", "rule": "evidence"}
    sink.add("ledger", [{**common, **evidence, "disposition": "kept", "records": len(run.messages) + 1}])


def _sft(sink: Sink, run: Run, row: dict[str, Json]) -> None:
    sink.add(
        "sft_decisions",
        [
            {
                "trajectory_id": run.trajectory_id, "attempt_id": run.attempt_id, "score": run.score,
                "decision": "kept" if run.kept else "dropped", "reason": run.decision,
            }
        ],
    )  # fmt: skip
    if run.kept:
        sink.add(
            "sft_examples",
            [
                {
                    "example_id": digest(run.trajectory_id, "filter@1"), "trajectory_id": run.trajectory_id,
                    "attempt_id": run.attempt_id, "task_id": run.task.task_id, "task_version": run.task.version,
                    "verdict_id": digest(run.attempt_id, run.task.verifier_version, "none"), "split": "train",
                    "policy": run.policy, "score_column": "score_code", "score": run.score, "turns": row["turns"],
                    "tool_calls": row["tool_calls"], "messages": row["messages"], "tools": TOOLS,
                    "context_differs": 0.0, "content_sha256": sha256_hex(row["messages"]),
                }
            ],
        )  # fmt: skip


def write_foreign(sink: Sink, at: datetime, *, raw: bool) -> None:
    """Two sessions of somebody else's: no attempt, no task, no verdict."""
    for number, klass in enumerate(("normal", "heartbeat_only")):
        session = f"foreign-{number}"
        source = sha256_hex(session)
        trajectory = digest(source, "leaf")
        writer = _Writer(source, session, None, trajectory, at)
        writer.step("user", "What is in my notes?")
        writer.step("assistant", "Three open points.", stop_reason="stop", model="some-model")
        sink.add("steps", writer.steps)
        sink.add(
            "trajectories",
            [
                {
                    "trajectory_id": trajectory, "session_id": session, "source_id": source, "branch": 0,
                    "class": klass, "model": "some-model", "turns": 1, "user_turns": 1, "tool_calls": 0,
                    "tool_types": 0, "tool_errors": 0, "text_tokens": 10, "started_at": at, "ended_at": at,
                    "messages": "[]", "rules": [], "secrets_masked": 0,
                }
            ],
        )  # fmt: skip
        sink.add("sft_decisions", [{"trajectory_id": trajectory, "decision": "dropped", "reason": "foreign_log"}])
        sink.add(
            "ledger",
            [
                {
                    "source_id": source, "version": 0, "source_kind": "openclaw.transcript", "session_id": session,
                    "disposition": "kept", "rule": "step", "records": len(writer.steps),
                }
            ],
        )  # fmt: skip
        if raw:
            sink.add("raw_records", writer.raws)
    _trial(sink, at, "foreign-0", raw=raw)


def _trial(sink: Sink, at: datetime, session: str, *, raw: bool) -> None:
    """A Harbor trial that left the session."""
    source = sha256_hex("trial")
    data = canonical(
        {"trial_name": "notes__1", "task_name": "notes", "verifier_result": {"rewards": {"reward": 0.5}}}
    ).encode()
    common = {"source_id": source, "version": 0, "source_kind": "harbor.trial", "session_id": session}
    sink.add("ledger", [{**common, "disposition": "kept", "rule": "evidence", "records": 1}])
    record = {
        **common, "record_key": record_key(source, 0, 0), "position": 0, "source_path": "jobs/one/notes__1/result.json",
        "raw": data, "raw_size": len(data), "raw_sha256": sha256_hex(data), "encoding": "identity",
        "parse_status": "ok", "ingested_at": at,
    }  # fmt: skip
    if raw:
        sink.add("raw_records", [record])
