"""inspect_scout on the same sessions: store, store again, read one, ask all. It has no importer: objects are made here.

Runs in the peer's environment: `python inspect_scout.py store|again|read|scan FOLDER DATABASE …`.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspect_ai.model import (  # type: ignore[import-not-found,unused-ignore]
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
)
from inspect_ai.tool import ToolCall  # type: ignore[import-not-found,unused-ignore]
from inspect_scout import (  # type: ignore[import-not-found,unused-ignore]
    Transcript,
    TranscriptContent,
    grep_scanner,
    scan,
    scanner,
    transcripts_db,
    transcripts_from,
)


def cpu() -> float:
    """Of this process and its children (a scan works in several)."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)


def measured(work: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Cost of some work, and what it gives."""
    started, wall = cpu(), time.perf_counter()
    result = work()
    return {"cpu_s": cpu() - started, "wall_s": time.perf_counter() - wall}, result


def text_of(content: Any) -> str:
    """Text of a message's content."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")


def message_of(entry: dict[str, Any]) -> Any:
    """A message of a session as one of Inspect's."""
    message = entry["message"]
    text = text_of(message["content"])
    if message["role"] == "user":
        return ChatMessageUser(content=text, id=entry["id"])
    if message["role"] == "toolResult":
        return ChatMessageTool(
            content=text, id=entry["id"], tool_call_id=message["toolCallId"], function=message["toolName"]
        )
    calls = [
        ToolCall(id=part["id"], function=part["name"], arguments=part["arguments"])
        for part in message["content"]
        if part.get("type") == "toolCall"
    ]
    return ChatMessageAssistant(content=text, id=entry["id"], tool_calls=calls or None, model=message["model"])


def transcripts(folder: Path) -> list[Any]:
    """Every session of the folder."""
    found = []
    for path in sorted(folder.rglob("*.jsonl")):
        entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        messages = [message_of(entry) for entry in entries if entry["type"] == "message"]
        found.append(
            Transcript(
                transcript_id=entries[0]["id"], source_type="openclaw", source_id=entries[0]["id"],
                source_uri=str(path), model="basic", messages=messages,
            )
        )  # fmt: skip
    return found


async def insert(database: str, items: list[Any]) -> None:
    """Store them; those whose id is there are passed over."""
    async with transcripts_db(database) as opened:
        await opened.insert(items)


async def read_each(database: str, wanted: list[str]) -> list[float]:
    """Seconds that each read of one transcript takes."""
    async with transcripts_db(database) as opened:
        infos = {info.transcript_id: info async for info in opened.select()}
        await opened.read(infos[wanted[0]], TranscriptContent(messages="all"))
        seconds = []
        for transcript in wanted:
            started = time.perf_counter()
            await opened.read(infos[transcript], TranscriptContent(messages="all"))
            seconds.append(time.perf_counter() - started)
    return seconds


@scanner(messages="all")  # type: ignore[untyped-decorator,unused-ignore]
def phrase(pattern: str) -> Any:
    """Where a phrase occurs."""
    return grep_scanner(pattern, ignore_case=False)


def main() -> None:
    """Entry point."""
    job, folder, database = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    more: dict[str, Any] = {}
    if job in ("store", "again"):
        making, items = measured(lambda: transcripts(folder))
        spent, _ = measured(lambda: asyncio.run(insert(database, items)))
        more = {"objects_cpu_s": making["cpu_s"]}
    elif job == "read":
        wanted = json.loads(Path(sys.argv[4]).read_text())
        spent, seconds = measured(lambda: asyncio.run(read_each(database, wanted)))
        more = {"p50_s": statistics.median(seconds), "p95_s": statistics.quantiles(seconds, n=20)[18]}
    else:
        with tempfile.TemporaryDirectory() as scans:
            spent, _ = measured(
                lambda: scan([phrase(sys.argv[4])], transcripts=transcripts_from(database), scans=scans, display="none")
            )
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({**spent, "peak_mb": peak / 1024, **more}))


if __name__ == "__main__":
    main()
