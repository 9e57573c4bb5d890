"""Attempt folders made from recorded runs of OpenClaw, as the rollouts leave them: state database and proxy log.

The requests are the recorded ones; the answers are rebuilt from the transcript, or from the next request where the
transcript lost the turn.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import lake
from assets.profile import Profile
from assets.rollouts.proxy.record import Call, Encoder
from assets.stage import Context
from lake import Lake
from lake.ids import canonical

FIXTURES = Path(__file__).parent.parent / "fixtures" / "openclaw"
SAMPLES = FIXTURES / "samples"


def context(root: Path) -> Context:
    """A context over a fresh lake."""
    return Context(lake.open(root / "lake"), Profile())


def read_lines(path: Path) -> list[dict[str, Any]]:
    """JSON objects of a line file."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def write_database(path: Path, transcript: list[bytes], trajectory: list[bytes], session: str) -> None:
    """An agent database with one session, in WAL mode, its log left beside it as a killed process leaves it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "pragma journal_mode = wal;"
            "create table transcript_events (session_id text, seq integer, event_json text, created_at integer,"
            " event_zstd blob, event_utf8_bytes integer, navigation_json text, primary key (session_id, seq));"
            "create table trajectory_runtime_events (session_id text, seq integer, run_id text, event_json text,"
            " created_at integer, primary key (session_id, seq));"
            "create table session_windows (session_id text primary key, session_key text, status text);"
        )
        connection.executemany(
            "insert into transcript_events values (?, ?, ?, 0, null, null, null)",
            [(session, number, line.decode()) for number, line in enumerate(transcript)],
        )
        connection.executemany(
            "insert into trajectory_runtime_events values (?, ?, 'run', ?, 0)",
            [(session, number, line.decode()) for number, line in enumerate(trajectory)],
        )
        connection.execute("insert into session_windows values (?, ?, null)", [session, f"agent:main:{session}"])
        connection.commit()


def make_attempt(into: Lake, case: str, attempt_id: str) -> str:
    """Lay an attempt's folder from a recorded run, state its events, and return its session id."""
    sample = SAMPLES / case
    folder = into.root / "attempts" / attempt_id
    transcript = [line for line in (sample / "main.transcript.jsonl").read_bytes().split(b"\n") if line]
    session = str(json.loads(transcript[0])["id"])
    trace = sample / "main.trajectory.jsonl"
    trajectory = [line for line in trace.read_bytes().split(b"\n") if line] if trace.exists() else []
    write_database(folder / "state/agents/main/agent/openclaw-agent.sqlite", transcript, trajectory, session)
    if (sample / "requests.jsonl").exists():
        write_proxy_log(folder / "proxy.jsonl", sample, attempt_id)
    (folder / "stdout.json").write_text('{"ok": true}\n')
    state_attempt(into, attempt_id, session)
    return session


def state_attempt(into: Lake, attempt_id: str, session: str | None, ending_kind: str = "agent") -> None:
    """The events of an attempt that ended."""
    plan = {
        "attempt_id": attempt_id, "rollout_id": f"r-{attempt_id}", "attempt_no": 0, "purpose": "collect", "batch": "t",
        "task_id": "task-1", "task_version": "v1", "policy": "scripted:strong@1", "policy_kind": "scripted",
        "harness": "openclaw@2026.9.6", "config_fingerprint": "0", "config": {}, "seed": 1, "repeat": 0,
        "initial_workspace_id": "w0",
    }  # fmt: skip
    ended: dict[str, Any] = {
        "attempt_id": attempt_id, "ending": "finished", "ending_kind": ending_kind, "ending_detail": None,
        "exit_code": 0, "session_id": session, "model_calls": 1, "upstream_errors": 0, "prefix_breaks": None,
        "duration_s": 1.0, "final_workspace_id": "w1", "files": [],
    }  # fmt: skip
    with into.spool("test") as spool:
        stream = spool.stream("attempt", attempt_id)
        stream.emit("attempt.planned", plan)
        stream.emit("attempt.ended", ended)
    into.commit()


def write_proxy_log(path: Path, sample: Path, attempt_id: str) -> None:
    """The proxy's log of a recorded run."""
    requests = read_lines(sample / "requests.jsonl")
    answers = {
        record["message"]["responseId"]: record["message"]
        for record in read_lines(sample / "main.transcript.jsonl")
        if record["type"] == "message" and record["message"].get("responseId")
    }
    encoder = Encoder()
    with path.open("w", encoding="utf-8") as file:
        for number, request in enumerate(requests):
            response_id = f"chatcmpl-{request['n']}"
            following = requests[number + 1]["body"]["messages"] if number + 1 < len(requests) else []
            message = _answer(answers.get(response_id), following, len(request["body"]["messages"]), request["n"])
            call = Call(
                record_id=f"{attempt_id}/{number:04d}.0",
                attempt_id=attempt_id,
                call=number,
                retry=0,
                policy="scripted:strong@1",
                upstream="scripted:strong@1",
                request=json.dumps(request["body"], ensure_ascii=False, separators=(",", ":")).encode(),
                status=200 if message else 500,
                content_type="text/event-stream" if message else "application/json",
                response=_stream(response_id, message) if message else b'{"error":{"message":"scripted failure"}}',
                error=None if message else "HTTP 500",
                started_at="2026-12-01T03:23:06.000Z",
                delivered=bool(message),
                response_id=response_id if message else None,
                usage={"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12} if message else None,
                finish_reason=("tool_calls" if message.get("tool_calls") else "stop") if message else None,
            )
            file.write(canonical(encoder.encode(call)) + "\n")


def _answer(
    stored: dict[str, Any] | None, following: list[dict[str, Any]], before: int, number: int
) -> dict[str, Any] | None:
    """The assistant message a request was answered with."""
    if stored is not None:
        text = "".join(part["text"] for part in stored["content"] if part["type"] == "text")
        thinking = "".join(part["thinking"] for part in stored["content"] if part["type"] == "thinking")
        calls = [
            (part["id"], part["name"], json.dumps(part["arguments"], ensure_ascii=False))
            for part in stored["content"]
            if part["type"] == "toolCall"
        ]
        return _message(text, thinking, calls) if text or calls else None
    later = following[before - 1] if len(following) > before and following[before - 1]["role"] == "assistant" else None
    if later is None:
        return None
    calls = [
        (f"call_{number}_{index}", call["function"]["name"], call["function"]["arguments"])
        for index, call in enumerate(later.get("tool_calls", []))
    ]
    return _message(later.get("content") or "", "", calls)


def _message(text: str, thinking: str, calls: list[tuple[str, str, str]]) -> dict[str, Any]:
    message: dict[str, Any] = {"content": text or None}
    if thinking:
        message["reasoning_content"] = thinking
    if calls:
        message["tool_calls"] = [
            {"index": index, "id": made_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for index, (made_id, name, arguments) in enumerate(calls)
        ]
    return message


def _stream(response_id: str, message: dict[str, Any]) -> bytes:
    """Server-sent events of an answer, its text cut into two pieces."""
    text = message.get("content") or ""
    half = len(text) // 2
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": text[:half]}, {"content": text[half:]}]
    deltas.append({key: value for key, value in message.items() if key != "content"})
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    chunks = [{"id": response_id, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"id": response_id, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()
