"""`docs/sources.md` names every kind of source there is, and none besides; its SQL runs."""

from __future__ import annotations

import re
from pathlib import Path

import assets.logs
from assets.logs.catalogue import ANCHORLESS, ROW_KINDS
from assets.stage import Context
from assets.trajectories.rules import RULES
from assets.trajectories.sources import CALLS, TRACES, TRANSCRIPTS

PAGE = (Path(__file__).parents[2] / "docs" / "sources.md").read_text()
CODE = "\n".join(path.read_text() for path in sorted(Path(assets.logs.__file__).parent.rglob("*.py")))


def test_every_kind_is_listed() -> None:
    rows = re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE)
    listed = {kind for row in rows for kind in re.findall(r"`([^`]+)`", row)}
    stated = set(re.findall(r'"((?:openclaw|atif|harbor|chat)\.[a-z.]+)"', CODE)) - {"openclaw.mjs"}
    assert listed == stated | ANCHORLESS | ROW_KINDS | TRANSCRIPTS | TRACES | {CALLS}


def test_the_rules_it_names_are_rules_and_its_query_runs(context: Context) -> None:
    gaps = {"subagent_parent_ambiguous", "subagent_parent_unknown", "agent_transcript_unavailable"}
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", PAGE))
    assert {"head_gap", "continued_elsewhere", "only_in_superseded_version"} <= named & set(RULES)
    assert gaps <= named
    (query,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    assert context.lake.sql(query, read_only=True).fetchall() == []
