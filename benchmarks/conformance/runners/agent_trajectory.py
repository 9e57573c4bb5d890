"""agent-trajectory on the cases: every session file through `normalize_transcript`, nothing cut.

Where there is no session file, what its own listing of the folder finds.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import trajectory

Part = dict[str, Any]
WHOLE = {"toolArguments": {"maxCharacters": None}, "toolResults": {"maxCharacters": None}}


def main() -> None:
    """Read cases, write what became of them."""
    cases = json.load(sys.stdin)
    json.dump({name: run(files) for name, files in cases.items()}, sys.stdout)


def run(files: dict[str, str]) -> dict[str, Any]:
    """One case."""
    found: dict[str, Any] = {"trajectories": [], "stated": [], "error": None}
    with tempfile.TemporaryDirectory() as folder:
        paths: list[Path] = []
        for name, data in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(data))
            if name.endswith(".jsonl") and not name.endswith(".trajectory.jsonl"):
                paths.append(path)
        try:
            if not paths:
                listed = trajectory.list_trajectories(source="openclaw", root=folder)
                paths = [Path(item["path"]) for item in listed["items"]]
            for path in paths:
                text = path.read_bytes().decode("utf-8", "replace")
                made = trajectory.normalize_transcript(source="openclaw", transcript=text, bounds=WHOLE)
                found["trajectories"].append(parts(made["records"]))
                found["stated"] += [[item.get("inputLine"), item["code"]] for item in made["diagnostics"]]
        except Exception as error:  # whatever it raises, the session is lost to its caller
            found["error"] = f"{type(error).__name__}: {error}"[:200]
    return found


def parts(records: list[dict[str, Any]]) -> list[Part]:
    """Its records as parts."""
    made: list[dict[str, Any]] = []
    for record in records:
        role, text = record["role"], record.get("content") or ""
        if role == "user":
            made.append({"kind": "user", "text": text})
        elif role == "assistant":
            if text:
                made.append({"kind": "say", "text": text})
            for call in record.get("tool_calls") or ():
                made.append({"kind": "call", "id": call["id"], "name": call["name"], "arguments": call["args"]})
        elif role == "tool":
            failed = record.get("ok") is False
            text = text.removeprefix("Error: ") if failed else text  # a prefix it puts before failed results
            made.append({"kind": "result", "id": record["tool_call_id"], "text": text, "failed": failed})
        elif role not in ("meta", "reasoning"):
            made.append({"kind": role, "text": text})
    return made


if __name__ == "__main__":
    main()
