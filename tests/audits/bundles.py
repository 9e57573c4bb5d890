"""Small tasks for tests: one that is sound, and ways to spoil it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import lake as lakes
from assets.profile import AuditsSection, Profile, SkillsSection
from assets.stage import Context
from assets.tasks import STAGE as TASKS
from assets.tasks import TaskBundle
from assets.tasks.propose import propose
from lake import Lake

CHECK = """import csv, json, pathlib

ORDERS = [("a", 3), ("b", 5), ("c", 4)]

def load(path, parse):
    try:
        return parse(path.read_text())
    except (OSError, ValueError, KeyError, TypeError, IndexError, UnicodeDecodeError):
        return None

def grade(transcript, workspace_path):
    root = pathlib.Path(workspace_path)
    rows = load(root / "output/orders.csv", lambda text: list(csv.reader(text.splitlines())))
    summary = load(root / "output/summary.json", json.loads)
    if not isinstance(summary, dict) or not isinstance(summary.get("names"), list):
        summary = {"names": []}
    wanted = [[name, str(n)] for name, n in sorted(ORDERS, key=lambda o: -o[1])]
    return {
        "header": float(bool(rows) and rows[0] == ["name", "count"]),
        "rows": float(bool(rows) and rows[1:] == wanted),
        "total": float(summary.get("total") == 12),
        "names": float(sorted(map(str, summary["names"])) == ["a", "b", "c"]),
    }
"""

SOUND = TaskBundle(
    task_id="orders-s0000",
    instruction=(
        "Read input/orders.jsonl and write two files.\n"
        "output/orders.csv has the columns name,count, sorted by count, largest first.\n"
        "output/summary.json has total and names.\n"
    ),
    inputs={
        "input/orders.jsonl": b'{"name": "a", "count": 3}\n{"name": "b", "count": 5}\n{"name": "c", "count": 4}\n',
        "input/old.csv": b"name,count\nz,1\n",
    },
    reward={"check.py": CHECK.encode()},
    verifier_protocol="grade_floats",
    origin="family:orders",
    route="persona",
    licence="Apache-2.0",
    oracle={
        "output/orders.csv": b"name,count\nb,5\nc,4\na,3\n",
        "output/summary.json": b'{"total": 12, "names": ["a", "b", "c"]}\n',
    },
    family="orders",
    seed=0,
    operations=("filtering",),
    expected_outputs=("output/orders.csv", "output/summary.json"),
)


def seeded(seed: int, **changes: object) -> TaskBundle:
    """The sound task under another seed, with changes."""
    return replace(SOUND, task_id=f"orders-s{seed:04d}", seed=seed, **changes)  # type: ignore[arg-type]


def checked(body: str, bundle: TaskBundle = SOUND) -> TaskBundle:
    """The bundle with a verifier whose `grade` has this body."""
    source = "import json, pathlib, os\n\ndef grade(transcript, workspace_path):\n"
    source += "    root = pathlib.Path(workspace_path)\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return replace(bundle, reward={"check.py": source.encode()})


def context(folder: Path, bundles: Mapping[str, TaskBundle] | list[TaskBundle], **audits: object) -> Context:
    """A lake with these tasks proposed, and a context over it."""
    lake: Lake = lakes.open(folder / "lake")
    with lake.spool("tests") as spool:
        for bundle in bundles.values() if isinstance(bundles, Mapping) else bundles:
            propose(spool, bundle)
    lake.commit()
    lake.build(TASKS.projection)
    profile = Profile(audits=AuditsSection(**audits), skills=SkillsSection(sources=()))  # type: ignore[arg-type]
    return Context(lake, profile)
