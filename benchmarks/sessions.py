"""Generated OpenClaw session files (format v3) for the jobs: the same bytes for the same seed.

Sizes follow the set the peers were measured on: 1,000 sessions, 46 records each, about 1 KB a record.
"""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_WORDS = (
    "report", "table", "amount", "invoice", "server", "region", "error", "retry", "total", "draft",
    "meeting", "owner", "budget", "path", "file", "value", "check",
)  # fmt: skip


def write_sessions(folder: Path, sessions: int, *, turns: int = 14, seed: int = 7, words: int = 300) -> int:
    """Write `sessions` files below `folder` as an OpenClaw state folder holds them; returns the number of records.

    Each tool result has so many `words`.
    """
    rng = random.Random(seed)
    target = folder / "agents" / "main" / "sessions"
    target.mkdir(parents=True, exist_ok=True)
    records = 0
    for number in range(sessions):
        lines = list(_session(rng, number, turns, words))
        (target / f"{_uuid(rng)}.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        records += len(lines)
    return records


def _uuid(rng: random.Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words))


def _session(rng: random.Random, number: int, turns: int, words: int) -> list[str]:
    clock = 1_770_000_000_000 + number * 3_600_000
    parent: str | None = None
    out: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": _uuid(rng), "timestamp": _iso(clock), "cwd": "/workspace"}
    ]

    def entry(kind: str, **fields: object) -> None:
        nonlocal parent, clock
        clock += rng.randrange(200, 4000)
        identity = f"{rng.getrandbits(32):08x}"
        out.append({"type": kind, "id": identity, "parentId": parent, "timestamp": _iso(clock), **fields})
        parent = identity

    entry("model_change", provider="mock", modelId="basic")
    entry("thinking_level_change", thinkingLevel="off")
    entry("message", message={"role": "user", "content": _text(rng, 120), "timestamp": clock})
    for turn in range(turns):
        call = f"call_{turn}_{rng.getrandbits(24):06x}"
        content: list[dict[str, Any]] = [
            {"type": "text", "text": _text(rng, 20)},
            {"type": "toolCall", "id": call, "name": rng.choice(("read", "exec", "write")),
             "arguments": {"path": f"input/{rng.choice(_WORDS)}.csv", "command": _text(rng, 25)}},
        ]  # fmt: skip
        entry("message", message=_assistant(rng, content, "toolUse", clock))
        result = {"role": "toolResult", "toolCallId": call, "toolName": "exec", "isError": False, "timestamp": clock}
        entry("message", message={**result, "content": [{"type": "text", "text": _text(rng, words)}]})
        entry("custom", customType="openclaw.cache-ttl", data={"ttl": clock})
    entry("message", message=_assistant(rng, [{"type": "text", "text": _text(rng, 60)}], "stop", clock))
    return [json.dumps(record, ensure_ascii=False) for record in out]


def _assistant(rng: random.Random, content: list[dict[str, Any]], stop: str, clock: int) -> dict[str, Any]:
    usage = {"input": rng.randrange(4000, 9000), "output": rng.randrange(40, 400), "cacheRead": 0, "cacheWrite": 0}
    return {
        "role": "assistant",
        "content": content,
        "api": "openai-completions",
        "provider": "mock",
        "model": "basic",
        "responseId": f"chatcmpl-{rng.getrandbits(64):016x}",
        "usage": {**usage, "totalTokens": usage["input"] + usage["output"]},
        "stopReason": stop,
        "timestamp": clock,
    }


def _iso(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"
