"""Checks of a stage while another job appends to the log: they fail for the tables' own faults, and only for those."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import lake
from assets.logs import STAGE
from assets.settled import SettledLake, checked, settled
from assets.stage import CheckOutcome
from lake import Lake
from tests.lake.workload import raw_rows

(ALL_STATED,) = [check for check in STAGE.checks if check.name == "every_record_stated"]


@pytest.fixture
def opened(tmp_path: Path) -> Lake:
    made = lake.open(tmp_path / "lake")
    take(made, "1")
    made.build(STAGE.projection)
    return made


def rows_of(made: Lake, letter: str) -> str:
    source = letter * 64
    assert made.append_raw(source, 0, raw_rows(0, 2)[:1])
    return source


def state(made: Lake, source: str) -> None:
    payload = {
        "source_id": source, "version": 0, "source_kind": "openclaw.jsonl", "path": "/a.jsonl", "session_id": None,
        "attempt_id": None, "records": 1, "bytes": 20, "sha256": "0" * 64, "open_tail": False, "left": {},
    }  # fmt: skip
    with made.spool("tests") as spool:
        spool.stream("source", f"{source}/0").emit("source.ingested", payload)
    made.commit()


def take(made: Lake, letter: str) -> None:
    state(made, rows_of(made, letter))


def test_what_came_after_the_build_fails_no_check(opened: Lake) -> None:
    take(opened, "2")
    assert not ALL_STATED.run(opened).passed, "the newest of everything does not fit together"
    assert checked(opened, STAGE.projection, ALL_STATED.run, quiet_s=0).passed


def test_all_checks_of_a_state_see_one_state(opened: Lake) -> None:
    found = settled(opened, STAGE.projection)
    take(opened, "2")
    assert found.table("raw_records").num_rows == found.rows("sources").__len__() == 1
    assert found.sql("select count(*) from raw_records").fetchone() == (1,)
    assert len(list(found.events("source.ingested"))) == 1
    assert opened.table("raw_records").num_rows == 2


def test_rows_another_job_is_about_to_state_are_waited_for(opened: Lake) -> None:
    source = rows_of(opened, "2")
    other = threading.Timer(0.5, lambda: state(lake.open(opened.root), source))
    other.start()
    outcome = checked(opened, STAGE.projection, ALL_STATED.run, quiet_s=2.0)
    other.join()
    assert outcome.passed, outcome.detail


def test_a_real_fault_still_fails(opened: Lake) -> None:
    rows_of(opened, "2")
    outcome = checked(opened, STAGE.projection, ALL_STATED.run, quiet_s=0)
    assert not outcome.passed
    assert "1 source versions differ" in outcome.detail


def test_a_changed_table_is_not_mended_by_looking(opened: Lake) -> None:
    sources = opened.table("sources")
    record = opened.store.commit_info("sources", opened.store.version("sources"))
    keep = {key: str(value) for key, value in record.items() if key.startswith("clawgym.")}
    opened.store.overwrite("sources", sources.slice(0, 0), keep)
    seen: list[int] = []

    def rows_as_built(one: Lake) -> CheckOutcome:
        assert isinstance(one, SettledLake)
        seen.append(one.table("sources").num_rows)
        return CheckOutcome(seen[-1] == int(one.build_record("sources")["rows"]), "")

    assert not checked(opened, STAGE.projection, rows_as_built, quiet_s=0).passed
    assert seen == [0]
