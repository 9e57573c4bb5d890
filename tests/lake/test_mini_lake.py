"""A lake written by version 1, committed, is opened, checked and replayed by this version."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import lake
from lake import Lake
from lake.explain import explain
from lake.replay import replay
from lake.schema import TABLES
from lake.settings import LAKE_FORMAT
from lake.verify import verify
from tests.fixtures.make_mini_lake_v1 import FACTS, FOLDER, STAGES


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A copy, opened: tables and columns declared since are added by that."""
    root = tmp_path_factory.mktemp("mini") / "lake"
    shutil.copytree(FOLDER, root)
    return lake.open(root)


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    """What its maker counted."""
    found: dict[str, Any] = json.loads((FOLDER / FACTS).read_text())
    return found


def test_it_is_of_format_1_and_small() -> None:
    assert json.loads((FOLDER / "lake.json").read_text())["lake_format"] == 1 <= LAKE_FORMAT
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 300_000


def test_every_row_is_there_and_whole(old: Lake, facts: dict[str, Any]) -> None:
    assert {name: rows for name in TABLES if (rows := old.table(name).num_rows)} == facts["rows"]
    assert old.event_counts(list(facts["events"])) == facts["events"]
    found = verify(old)
    assert found.ok, found.findings


def test_events_are_read_in_their_newest_shape(old: Lake, facts: dict[str, Any]) -> None:
    events = list(old.events())
    assert len(events) == facts["rows"]["events"]
    assert all(isinstance(event.payload, dict) for event in events)


def test_replay_gives_equal_or_says_that_the_rules_are_newer(old: Lake) -> None:
    report = replay(old, [stage.projection for stage in STAGES])
    assert not [result for result in report.tables if result.status not in ("equal", "stale")], (
        "a projection gives other rows for the same log: raise its version"
    )


def test_snapshot_shows_what_was_known_then(old: Lake, facts: dict[str, Any]) -> None:
    then = old.at(facts["snapshot"])
    assert then.table("events").num_rows == facts["rows"]["events"] - 1
    assert then.streams("mini") == set()
    assert old.streams("mini") == {"after the snapshot"}


def test_trajectory_is_explained_down_to_its_bytes(old: Lake) -> None:
    (trajectory,) = old.rows("trajectories")
    found = explain(old, trajectory["trajectory_id"])
    assert any(node.table == "raw_records" and node.found for node in found.nodes())
    assert not found.missing


def test_it_can_be_written_to(old: Lake, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    shutil.copytree(FOLDER, root)
    copy = lake.open(root)
    with copy.spool("tests") as spool:
        spool.stream("mini", "new").emit("mini.noted", {"blob": spool.put_blob(b"new")})
    assert copy.commit().events == 1
    for stage in STAGES:
        copy.build(stage.projection)
    assert replay(copy, [stage.projection for stage in STAGES]).ok
