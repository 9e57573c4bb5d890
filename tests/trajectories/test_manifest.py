"""The whole set of published-shape logs, where it lies beside the repository: every file's facts, then all in one lake.

The set is too large to be committed; `tests/fixtures/openclaw` holds a part of it, so these tests skip elsewhere.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assets.logs import STAGE as LOGS
from assets.logs import ingest_paths
from assets.rollouts import STAGE as ROLLOUTS
from assets.stage import Context
from assets.trajectories import STAGE
from tests.trajectories.attempts import context
from tests.trajectories.facts import Facts, check_facts, check_nothing_lost

WHOLE = Path(__file__).resolve().parents[3] / "shared" / "fixtures"
PACKED = "gz_named_jsonl.jsonl"
"""Compressed under a plain name: its facts are of the compressed bytes, which no reader takes for lines."""
UNREADABLE = "handmade/utf16le.jsonl"
"""No record of it can be read: it is left, and that is said."""
MANIFEST = json.loads((WHOLE / "manifest.json").read_text()) if WHOLE.exists() else {"files": []}
FACTS: dict[str, Facts] = {
    entry["path"]: entry["facts"]
    for entry in MANIFEST["files"]
    if entry["content"] == "transcript" and entry["facts"] is not None and not entry["path"].endswith(PACKED)
}

pytestmark = pytest.mark.skipif(not WHOLE.exists(), reason="the whole set is not beside this repository")


@pytest.mark.parametrize("name", sorted(FACTS))
def test_no_record_is_lost_and_the_facts_hold(name: str) -> None:
    check_nothing_lost(WHOLE / name, FACTS[name])
    check_facts(WHOLE / name, FACTS[name])


@pytest.mark.slow
def test_all_of_it_in_one_lake(tmp_path: Path) -> None:
    """Every record of every file taken in has one fate, and every check of the stage passes."""
    made = context(tmp_path)
    said: list[str] = []
    spoken = Context(made.lake, made.profile, progress=lambda message, *_: said.append(message))
    ingest_paths(spoken, [WHOLE / folder for folder in ("handmade", "shape", "sqlite")])
    for stage in (ROLLOUTS, LOGS, STAGE):
        made.lake.build(stage.projection)
    assert {check.name: check.run(made.lake).passed for check in STAGE.checks} == dict.fromkeys(
        (check.name for check in STAGE.checks), True
    )
    taken = {
        str(Path(path).relative_to(WHOLE)) for source in made.lake.rows("sources") for path in source["seen_paths"]
    }
    assert {name for name, facts in FACTS.items() if facts["n_lines"]} - taken == {UNREADABLE}
    assert any(UNREADABLE in line and line.startswith("left ") for line in said)
    fates = made.lake.sql("select sum(records) from ledger").fetchall()[0][0]
    assert fates == made.lake.table("raw_records").num_rows
