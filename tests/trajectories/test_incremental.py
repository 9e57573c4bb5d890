"""Builds by group: equal to a full rebuild whatever happened in whatever order, and no more work than was changed."""

from __future__ import annotations

import signal
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assets.stage import Context
from assets.trajectories import STAGE
from lake import incremental
from tests.lake import processes
from tests.trajectories.attempts import context
from tests.trajectories.history import FILES, Event, build, counted, happen, run_and_die, unequal


@pytest.fixture(autouse=True)
def only_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work by group however many of the few groups changed."""
    monkeypatch.setattr(incremental, "WHOLE_FROM", 0)


def whole(name: str) -> Event:
    """The file with all its lines."""
    return ("write", name, len(FILES[name]) - 3)


def made_with(folder: Path, *names: str) -> Context:
    made = context(folder)
    for name in names:
        happen(made, folder, whole(name))
    build(made.lake)
    return made


def versions(made: Context) -> dict[str, int]:
    return {name: len(made.lake.store.delta(name).file_uris()) for name in ("steps", "trajectories")}


events = st.one_of(
    st.tuples(
        st.sampled_from(["write", "write", "write", "rewrite"]), st.sampled_from(sorted(FILES)), st.integers(0, 12)
    ),
    st.tuples(st.sampled_from(["forget", "attempt"]), st.just("first"), st.integers(0, 5)),
)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(events, min_size=1, max_size=3), min_size=2, max_size=4))
def test_any_order_and_split_of_what_happens_ends_as_one_full_build(steps: list[list[Event]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = context(Path(folder))
        for step in steps:
            for event in step:
                happen(made, Path(folder), event)
            build(made.lake)
        assert unequal(made.lake) == []


@pytest.mark.parametrize("order", [("first", "fork", "whole"), ("whole", "fork", "first"), ("fork", "whole", "first")])
def test_who_was_first_does_not_hang_on_who_came_first(order: tuple[str, ...], tmp_path: Path) -> None:
    made = context(tmp_path)
    for name in order:
        happen(made, tmp_path, whole(name))
        build(made.lake)
    assert counted(made.lake) == [("first", "copy", 0), ("fork", "aborted", 1), ("whole", "aborted", 3)]
    assert unequal(made.lake) == []


def test_a_new_session_costs_its_own_group_only(tmp_path: Path) -> None:
    made = made_with(tmp_path, "first", "alone")
    before = versions(made)
    happen(made, tmp_path, whole("fork"))
    assert build(made.lake).groups == 1, "its original holds what it held first"
    assert versions(made) == {name: files + 1 for name, files in before.items()}, "no file was written again"
    assert build(made.lake).skipped


def test_a_source_that_was_first_disturbs_those_that_hold_its_answers(tmp_path: Path) -> None:
    made = made_with(tmp_path, "first", "fork", "alone")
    happen(made, tmp_path, whole("whole"))
    assert build(made.lake).groups == 3, "the one that says it is older, and the two that hold some of it"
    assert unequal(made.lake) == []


def test_a_forgotten_source_leaves_no_row_and_gives_back_what_it_was_first_to_hold(tmp_path: Path) -> None:
    made = made_with(tmp_path, "first", "fork", "alone")
    (source,) = made.lake.sql("select source_id from trajectories where session_id = 'first'").fetchone() or ("",)
    number = [row[0] for row in made.lake.sql("select distinct source_id from raw_records order by 1").fetchall()]
    happen(made, tmp_path, ("forget", "first", number.index(source)))
    build(made.lake)
    assert [row[0] for row in counted(made.lake)] == ["alone", "fork"]
    assert ("fork", "aborted", 3) in counted(made.lake)
    for name in ("answer_claims", "trajectory_groups"):
        groups = {row["group_id"] for row in made.lake.rows(name)}
        assert groups == {row["group_id"] for row in made.lake.rows("trajectories")}
    assert unequal(made.lake) == []


def test_other_rules_make_all_groups_anew(tmp_path: Path) -> None:
    made = made_with(tmp_path, "first", "alone")
    assert made.lake.build(replace(STAGE.projection, version=10_000)).groups == 2
    assert made.lake.build(replace(STAGE.projection, rules="one rule has another version")).groups == 2
    assert made.lake.build(STAGE.projection).groups == 2


def test_most_groups_changed_is_a_full_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = made_with(tmp_path, "first", "alone")
    monkeypatch.setattr(incremental, "WHOLE_FROM", 3)
    for name in ("again", "timed"):
        happen(made, tmp_path, whole(name))
    assert build(made.lake).groups == 4
    assert unequal(made.lake) == []


POINTS = [
    "groups.after_mark",
    "build.before_write:2",
    "build.after_write:2",
    "build.after_write:4",
    "build.after_write:8",
]


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_build_goes_on_after_a_kill(point: str, tmp_path: Path) -> None:
    made = made_with(tmp_path, "first", "fork", "alone")
    code = processes.run(run_and_die, made.lake.root, tmp_path, whole("whole"), point, timeout=120)
    assert code == -signal.SIGKILL, "the crash point was not passed"
    assert all(result.status != "different" for result in unequal(made.lake))
    build(made.lake)
    assert unequal(made.lake) == []


@pytest.mark.slow
def test_what_a_killed_build_wrote_of_a_source_forgotten_since_goes(tmp_path: Path) -> None:
    made = made_with(tmp_path, "first", "alone")
    had = {row[0] for row in made.lake.sql("select distinct source_id from raw_records").fetchall()}
    code = processes.run(run_and_die, made.lake.root, tmp_path, whole("whole"), "build.after_write:4", timeout=120)
    assert code == -signal.SIGKILL
    sources = [row[0] for row in made.lake.sql("select distinct source_id from raw_records order by 1").fetchall()]
    (new,) = set(sources) - had
    happen(made, tmp_path, ("forget", "first", sources.index(new)))
    build(made.lake)
    assert {row[0] for row in counted(made.lake)} == {"first", "alone"}
    assert unequal(made.lake) == []
