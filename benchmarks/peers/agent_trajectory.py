"""agent-trajectory over session files, a hundred in a call, as it is meant for many; nothing cut.

Runs in the peer's environment: `python agent_trajectory.py clean FOLDER`.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import trajectory  # type: ignore[import-not-found,unused-ignore]

WHOLE = {"toolArguments": {"maxCharacters": None}, "toolResults": {"maxCharacters": None}}
AT_ONCE = 100


def cpu() -> float:
    """Of this process and its children (it works in Node)."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)


def clean(folder: Path) -> dict[str, Any]:
    """Normalise every session."""
    paths = sorted(folder.rglob("*.jsonl"))
    records = 0
    for start in range(0, len(paths), AT_ONCE):
        requests = [
            {"source": "openclaw", "transcript": path.read_text(encoding="utf-8"), "bounds": WHOLE}
            for path in paths[start : start + AT_ONCE]
        ]
        records += sum(len(result["records"]) for result in trajectory.normalize_many(requests))
    return {"sessions": len(paths), "records": records}


def main() -> None:
    """Entry point."""
    started, wall = cpu(), time.perf_counter()
    said = clean(Path(sys.argv[2]))
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    spent = {"cpu_s": cpu() - started, "wall_s": time.perf_counter() - wall, "peak_mb": peak / 1024}
    print(json.dumps({**spent, **said}))


if __name__ == "__main__":
    main()
