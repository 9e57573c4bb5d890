"""Small realistic conversations in the shape OpenClaw serves, for tests of everything that trains or serves."""

from __future__ import annotations

import json

from lake.ids import Json
from training.chat import Conversation


def _tool(name: str, description: str, required: list[str], **properties: Json) -> dict[str, Json]:
    parameters = {"type": "object", "required": required, "properties": properties}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_TEXT = {"type": "string"}
_EDITS = {
    "type": "array",
    "items": {"type": "object", "required": ["oldText", "newText"], "properties": {"oldText": _TEXT, "newText": _TEXT}},
}
TOOLS: list[dict[str, Json]] = [
    _tool("read", "Read text/image file.", ["path"], path={"type": "string"}, offset={"type": "integer", "minimum": 1}),
    _tool("write", "Write/overwrite file; creates parent directories.", ["path", "content"], path=_TEXT, content=_TEXT),
    _tool("edit", "Exact single-file replacements.", ["path", "edits"], path=_TEXT, edits=_EDITS),
    _tool("exec", "Run shell now.", ["command"], command=_TEXT, workdir=_TEXT),
]
SYSTEM = "You are a personal assistant running inside OpenClaw.\n## Tooling\n- read: Read files\n- exec: Run shell"


def call(name: str, call_id: str, **arguments: Json) -> Json:
    """A tool call as a transcript holds it: compact argument text."""
    text = json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def expense_report(n: int, *, reasoning: bool = False) -> Conversation:
    """Read a table, compute, write a report, check it; `n` varies the figures."""
    rows = "".join(f"2026-0{1 + i},travel,{17 * n + i}.50\n" for i in range(4))
    total = sum(17 * n + i + 0.5 for i in range(4))
    first: Json = {"role": "assistant", "content": None, "tool_calls": [call("read", "call10", path="input/e.csv")]}
    if reasoning:
        first["reasoning_content"] = "The table first.\nThen the sum."
    messages: list[Json] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"[Tue 2026-12-01 03:35 UTC] Sum input/e.csv into output/total-{n}.json."},
        first,
        {"role": "tool", "tool_call_id": "call10", "content": "date,kind,amount\n" + rows},
        {
            "role": "assistant",
            "content": "Now the sum, and the folder.",
            "tool_calls": [
                call("exec", "call11", command="awk -F, 'NR>1{s+=$3}END{print s}' input/e.csv && ls -la"),
                call("write", "call12", path=f"output/total-{n}.json", content=json.dumps({"total": total}) + "\n"),
            ],
        },
        {"role": "tool", "tool_call_id": "call11", "content": f"{total}\ntotal 8\n-rw-r--r-- 1 root root 8 e.csv"},
        {"role": "tool", "tool_call_id": "call12", "content": f"Successfully wrote 16 bytes to output/total-{n}.json"},
        {"role": "assistant", "content": f"Done: output/total-{n}.json holds {total} — naïve sum, 4 rows ✓."},
    ]
    return Conversation(messages, TOOLS)


def corpus(count: int = 6) -> list[Conversation]:
    """A few conversations, one in three with reasoning."""
    return [expense_report(n, reasoning=n % 3 == 0) for n in range(1, count + 1)]
