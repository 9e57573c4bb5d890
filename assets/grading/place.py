"""Where a verifier package and the workspace it grades are put, and how it is started.

Belongs here: the entry of a package, the paths its authors wrote it for. Does not belong here: laying files out or
running (`verify.py`), what comes back (`said.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

WORKSPACE: Final = "/workspace"
"""Where a verifier of ours finds the workspace: where the agent had it."""
VERIFIER: Final = "/opt/clawgym/verifier"
"""Where the runner is, and the package of a verifier that expects no place; outside the workspace, read-only."""
CLAWGYM: Final = "/root/.openclaw/workspace"
"""Where published ClawGym verifiers expect the workspace; they themselves are in `reward/` of it."""
HARBOR_TESTS: Final = "/tests"
HARBOR_LOGS: Final = "/logs/verifier"
PLACE_FILE: Final = "clawgym.place.json"
"""Of an imported package: {"workspace": path}, where its definition puts the workspace. Not shown to the verifier."""

JUDGE_ONLY: Final = "judge_only"
HARBOR: Final = "harbor"
ENTRIES: Final = {
    "grade_floats": ("check.py", "test.py"),
    "reward_booleans": ("check.py", "test.py"),
    HARBOR: ("test.sh",),
    JUDGE_ONLY: ("rubric.md",),
}
"""Names of the verifier itself by protocol; the first that is there."""


@dataclass(frozen=True)
class Place:
    """Paths inside the sandbox."""

    workspace: str
    package: str


def entry_of(reward: Mapping[str, bytes], protocol: str) -> str | None:
    """The file of a package that is the verifier; null where there is none."""
    return next((name for name in ENTRIES.get(protocol, ()) if name in reward), None)


def place_of(package: Mapping[str, bytes], protocol: str) -> Place:
    """The place a package was written for: said by its place file, or named in one of its files; else ours."""
    if protocol == HARBOR:
        stated = json.loads(package.get(PLACE_FILE, b"{}"))
        return Place(str(stated.get("workspace", WORKSPACE)), HARBOR_TESTS)
    if any(CLAWGYM.encode() in data for data in package.values()):
        return Place(CLAWGYM, f"{CLAWGYM}/reward")
    return Place(WORKSPACE, f"{VERIFIER}/reward")
