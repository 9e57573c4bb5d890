"""Snapshots and --as-of: what the lake knew then."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lake import Lake
from lake.errors import LakeError, UsageError
from lake.upcast import UPCASTERS
from tests.lake import workload


def state(lake_: Lake, name: str) -> None:
    with lake_.spool("tests") as spool:
        blob = spool.put_blob(name.encode())
        spool.stream("persona", name).emit("persona.created", {"text": name, "blob": blob})
    lake_.commit()
    lake_.build(workload.PERSONAS)


def test_as_of_shows_what_was_known_then(empty: Lake) -> None:
    nothing = empty.snapshot("empty")
    state(empty, "ada")
    one = empty.snapshot("one")
    state(empty, "bob")
    for as_of, names in ((nothing, []), (one, ["ada"]), (None, ["ada", "bob"])):
        found = empty.sql("select name from personas order by name", as_of=as_of).fetchall()
        assert [row[0] for row in found] == names
    assert [event.stream_id for event in empty.at(one).events()] == ["ada"]
    assert empty.at(one).table("personas").column("name").to_pylist() == ["ada"]
    assert empty.at(nothing).streams("persona") == set()


def test_time_takes_the_latest_snapshot_not_later(empty: Lake) -> None:
    state(empty, "ada")
    empty.snapshot("one")
    state(empty, "bob")
    empty.snapshot("two")
    first, second = sorted(row["recorded_at"] for row in empty.rows("snapshots"))
    between = first + (second - first) / 2
    for when, count in ((first, 1), (between, 1), (second, 2), (second + timedelta(days=1), 2)):
        assert empty.sql("select count(*) from personas", as_of=when.isoformat()).fetchall() == [(count,)]
    naive = second.replace(tzinfo=None).isoformat()
    assert empty.versions_at(naive) == empty.versions_at(naive + "Z")
    with pytest.raises(UsageError, match="no snapshot at or before"):
        empty.versions_at((first - timedelta(seconds=1)).isoformat())


def test_nothing_changed_gives_no_second_row(empty: Lake) -> None:
    first = empty.snapshot("run", run_id="1")
    assert empty.snapshot("run", run_id="2") == first
    state(empty, "ada")
    second = empty.snapshot("run")
    assert second != first
    assert empty.snapshot("again") == second
    assert len(empty.rows("snapshots")) == 2


def test_unknown_snapshot_says_so(empty: Lake) -> None:
    with pytest.raises(UsageError, match="'yesterday' is neither a snapshot id nor an ISO time"):
        empty.sql("select 1", as_of="yesterday")


def test_old_events_are_read_in_the_newest_shape(empty: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    state(empty, "ada")
    monkeypatch.setitem(UPCASTERS, ("persona.created", 1), lambda p: {**p, "names": [p["text"]]})
    monkeypatch.setitem(UPCASTERS, ("persona.created", 2), lambda p: {**p, "count": len(p["names"])})
    (event,) = empty.events()
    assert (event.type_version, event.payload["count"]) == (3, 1)
    (stored,) = empty.rows("events")
    assert stored["type_version"] == 1
    assert "names" not in stored["payload"], "stored bytes stay"
    sql = replace(workload.PERSONAS, build=lambda view: view.sql("select payload from events"))
    with pytest.raises(LakeError, match=r"SQL sees payloads as stored, but persona\.created has older shapes"):
        empty.build(sql, force=True)
