"""Harbor on the cases: its own conversion of an OpenClaw session file, validated and written as it writes it."""

from __future__ import annotations

import base64
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from harbor.agents.installed.openclaw import openclaw_session_jsonl_to_atif_steps
from harbor.models.trajectories import Agent, Trajectory
from harbor.utils.trajectory_utils import format_trajectory_json


def main() -> None:
    """Read cases, write what became of them."""
    cases = json.load(sys.stdin)
    json.dump({name: run(files) for name, files in cases.items()}, sys.stdout)


def run(files: dict[str, str]) -> dict[str, Any]:
    """One case."""
    found: dict[str, Any] = {"trajectories": [], "stated": [], "error": None}
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            if not name.endswith(".jsonl") or name.endswith(".trajectory.jsonl"):
                continue
            path = Path(folder) / "openclaw.session.jsonl"
            path.write_bytes(base64.b64decode(data))
            try:
                steps = openclaw_session_jsonl_to_atif_steps(path, instruction="", model_name="m")
                if steps is None:
                    continue
                whole = Trajectory(session_id="s", agent=Agent(name="openclaw", version="1"), steps=steps)
                out = Path(folder) / "trajectory.json"
                out.write_text(format_trajectory_json(whole.to_json_dict()), encoding="utf-8")
                found["trajectories"].append(parts(json.loads(out.read_text(encoding="utf-8"))["steps"]))
            except Exception as error:  # whatever it raises, the trial has no trajectory
                found["error"] = f"{type(error).__name__}: {error}"[:200]
    return found


def parts(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Its steps as parts."""
    made: list[dict[str, Any]] = []
    for step in steps:
        if step["source"] != "agent":
            made.append({"kind": step["source"], "text": step["message"]})
            continue
        answer = {"model": step.get("model_name"), "tokens": tokens(step.get("metrics"))}
        text = step["message"] if step["message"] != "(no assistant text)" else ""  # its word for none
        made.append({"kind": "say", "text": text, **answer})
        for call in step.get("tool_calls") or ():
            made.append(
                {"kind": "call", "id": call["tool_call_id"], "name": call["function_name"],
                 "arguments": json.dumps(call["arguments"])}
            )  # fmt: skip
        for result in (step.get("observation") or {}).get("results", ()):
            made.append({"kind": "result", "id": result.get("source_call_id"), "text": result.get("content") or ""})
    return made


def tokens(metrics: dict[str, Any] | None) -> list[int] | None:
    """Prompt and completion tokens of an answer."""
    return None if not metrics else [metrics.get("prompt_tokens") or 0, metrics.get("completion_tokens") or 0]


if __name__ == "__main__":
    main()
