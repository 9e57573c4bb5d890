"""Replay: equal, stale, different, missing; and no effects."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from lake import Lake, Projection, View, rows_table
from lake.errors import LakeError, ReplayError
from lake.ids import Json
from lake.replay import Report, first_difference, in_order, replay
from tests.lake import workload
from tests.lake.workload import LEDGER, PERSONAS, PROJECTIONS


@pytest.fixture
def built(empty: Lake) -> Lake:
    workload.run(empty.root)
    return empty


def statuses(report: Report) -> dict[str, str]:
    return {result.table: result.status for result in report.tables}


def tamper(lake_: Lake, name: str, rows: list[dict[str, Json]]) -> None:
    """Write other rows under the build record of the present ones."""
    record = {f"clawgym.{key}": str(value) for key, value in lake_.build_record(name).items()}
    lake_.store.overwrite(name, rows_table(name, rows), record)


def test_replay_of_what_was_built_is_equal_and_leaves_nothing(built: Lake) -> None:
    before = {name: built.store.version(name) for name in ("personas", "ledger", "events")}
    report = replay(built, PROJECTIONS)
    assert statuses(report) == {"personas": "equal", "ledger": "equal"}
    assert report.ok
    report.check()
    assert all(result.digest_live == result.digest_rebuilt for result in report.tables)
    assert {name: built.store.version(name) for name in before} == before
    assert not (built.root / "replay").exists()
    json.dumps(report.to_json())


def test_kept_rebuild_can_be_looked_at(built: Lake) -> None:
    replay(built, [PERSONAS], keep=True)
    (folder,) = (built.root / "replay").iterdir()
    assert (folder / "tables" / "personas" / "_delta_log").is_dir()


def test_older_rules_are_stale(built: Lake) -> None:
    newer = replace(PERSONAS, version=2, build=lambda view: {"personas": workload.personas(view)["personas"].slice(1)})
    report = replay(built, [newer])
    (result,) = report.tables
    assert result.status == "stale"
    assert result.detail == "built by personas@1, the rules are now personas@2"
    assert report.ok, "stale is no fault"


def test_newer_rules_that_give_the_same_are_equal(built: Lake) -> None:
    (result,) = replay(built, [replace(PERSONAS, version=2)]).tables
    assert (result.status, result.detail) == ("equal", "built by personas@1, the rules are now personas@2")


def test_log_that_grew_makes_stale_and_what_reads_it_as_well(built: Lake) -> None:
    def count(view: View) -> dict[str, pa.Table]:
        rows = workload.ledger(view)["ledger"].to_pylist()
        return {"ledger": rows_table("ledger", [{**row, "records": view.table("personas").num_rows} for row in rows])}

    reads = replace(LEDGER, version=2, build=count)
    built.build(reads)
    with built.spool("tests") as spool:
        spool.stream("persona", "new").emit("persona.created", {"text": "t", "blob": spool.put_blob(b"Ada")})
    built.commit()
    report = replay(built, [PERSONAS, reads])
    assert statuses(report) == {"personas": "stale", "ledger": "stale"}
    assert "changed since" in report.tables[0].detail
    assert report.tables[1].detail == "it reads personas, which is stale"


@pytest.mark.parametrize(
    ("change", "key", "what"),
    [
        (lambda rows: rows[2].update(text="forged"), "p2", "text: live 'forged', rebuilt 'text 2 0'"),
        (lambda rows: rows.pop(1), "p1", "only rebuilt"),
        (lambda rows: rows.pop(), "p3", "only rebuilt"),
        (lambda rows: rows.insert(0, {**rows[0], "persona_id": "a"}), "a", "only live"),
        (lambda rows: rows.append({**rows[0], "persona_id": "z"}), "z", "only live"),
        (lambda rows: rows.clear(), "p0", "only rebuilt"),
    ],
)
def test_changed_table_is_different_and_the_first_row_is_shown(
    built: Lake, change: object, key: str, what: str
) -> None:
    rows = built.rows("personas")
    change(rows)  # type: ignore[operator]
    tamper(built, "personas", rows)
    report = replay(built, PROJECTIONS)
    result = report.tables[0]
    assert (result.status, statuses(report)["ledger"]) == ("different", "equal")
    assert result.first is not None
    assert (result.first.key, result.first.what) == ({"persona_id": key}, what)
    assert not report.ok
    with pytest.raises(ReplayError, match=f"personas is different: first difference at .*{key}"):
        report.check()


def test_build_with_force_heals(built: Lake) -> None:
    tamper(built, "personas", [])
    assert not replay(built, PROJECTIONS).ok
    built.build(PERSONAS, force=True)
    assert statuses(replay(built, PROJECTIONS)) == {"personas": "equal", "ledger": "equal"}


def test_never_built_is_stale_unless_there_is_nothing_to_build(empty: Lake) -> None:
    assert statuses(replay(empty, PROJECTIONS)) == {"personas": "equal", "ledger": "equal"}
    workload.effects(empty)
    empty.commit()
    report = replay(empty, PROJECTIONS)
    assert statuses(report) == {"personas": "stale", "ledger": "equal"}
    assert report.tables[0].detail == "never built"
    assert report.ok, "a stage that nobody ran yet is no fault of the lake"


def test_table_whose_file_is_gone_is_missing(built: Lake) -> None:
    for file in built.store.path("personas").glob("*.parquet"):
        file.unlink()
    (result,) = replay(built, [PERSONAS]).tables
    assert result.status == "missing"
    assert result.detail.startswith("cannot be read")


def test_effect_in_a_replay_is_an_error_and_happens_not(built: Lake) -> None:
    def cheat(view: View) -> dict[str, pa.Table]:
        with built.spool("tests") as spool:
            spool.stream("persona", "forged").emit("persona.created", {})
        return workload.personas(view)

    with pytest.raises(ReplayError, match="pure functions"):
        replay(built, [replace(PERSONAS, build=cheat)])
    assert built.commit().events == 0
    assert not (built.root / "replay").exists()


def test_replay_reads_rebuilt_tables_not_live_ones(built: Lake) -> None:
    seen: list[int] = []

    def look(view: View) -> dict[str, pa.Table]:
        seen.append(view.table("personas").num_rows)
        return workload.ledger(view)

    tamper(built, "personas", [])
    replay(built, [PERSONAS, replace(LEDGER, build=look)])
    assert seen == [workload.STREAMS]
    replay(built, [replace(LEDGER, build=look)])
    assert seen[-1] == 0, "of a table it does not rebuild it reads the live one"


def test_order_follows_what_is_read() -> None:
    assert [p.name for p in in_order([LEDGER, PERSONAS])] == ["personas", "ledger"]
    loop = replace(PERSONAS, tables=("ledger",))
    with pytest.raises(LakeError, match="in a circle"):
        in_order([LEDGER, loop])


def test_first_difference_in_a_large_table_is_found() -> None:
    names = ("text", "name", "occupation", "domain", "origin", "licence", "event_id")
    rows = [{"persona_id": f"{i:06d}", **dict.fromkeys(names, "x")} for i in range(5000)]
    live = rows_table("personas", rows)
    rebuilt = rows_table("personas", [{**row, "name": "y"} if i in (3210, 4000) else row for i, row in enumerate(rows)])
    found = first_difference("personas", live, rebuilt)
    assert found.key == {"persona_id": "003210"}
    assert found.what == "name: live 'x', rebuilt 'y'"


def test_workload_is_made_of_projections() -> None:
    assert all(isinstance(projection, Projection) for projection in PROJECTIONS)
