"""Projections: when one runs, what it may see, what it may give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from lake import Lake, Projection, View, rows_table
from lake.conform import conform
from lake.errors import LakeError, ReplayError
from lake.ids import Json
from lake.schema import TABLES
from tests.lake import workload
from tests.lake.workload import LEDGER, PERSONAS

Build = Callable[[View], Mapping[str, pa.Table | pa.RecordBatchReader]]


@pytest.fixture
def filled(empty: Lake) -> Lake:
    workload.ingest(empty)
    workload.effects(empty)
    empty.commit()
    return empty


def persona(id_: str, **more: Json) -> dict[str, Json]:
    names = ("text", "name", "occupation", "domain", "origin", "licence", "event_id")
    return {"persona_id": id_, **dict.fromkeys(names, "x"), **more}


def test_build_runs_when_something_changed_and_only_then(filled: Lake) -> None:
    first = filled.build(PERSONAS)
    assert (first.skipped, first.rows) == (False, {"personas": 4})
    again = filled.build(PERSONAS)
    assert again.skipped
    assert (again.rows, again.digests) == (first.rows, first.digests)
    with filled.spool("tests") as spool:
        spool.stream("skill", "s").emit("skill.imported", {})
    filled.commit()
    assert filled.build(PERSONAS).skipped, "an event it does not read"
    with filled.spool("tests") as spool:
        blob = spool.put_blob(b"Ada")
        spool.stream("persona", "new").emit("persona.created", {"text": "t", "blob": blob})
    filled.commit()
    assert filled.build(PERSONAS).rows == {"personas": 5}
    assert not filled.build(PERSONAS, force=True).skipped
    assert not filled.build(replace(PERSONAS, version=2)).skipped, "other rules"
    assert filled.build_record("personas")["projection"] == "personas@2"


def test_build_follows_earlier_tables_and_raw_records(filled: Lake) -> None:
    filled.build(PERSONAS)
    assert filled.build(LEDGER).rows == {"ledger": 1}
    assert filled.build(LEDGER).skipped
    filled.append_raw("6" * 64, 0, workload.raw_rows(0))
    assert filled.build(LEDGER).rows == {"ledger": 2}
    with filled.spool("tests") as spool:
        spool.stream("persona", "new").emit("persona.created", {"text": "t", "blob": spool.put_blob(b"Ada")})
    filled.commit()
    filled.build(PERSONAS)
    assert not filled.build(LEDGER).skipped, "a table it reads has another digest"


def test_rebuild_with_force_gives_the_same_digest(filled: Lake) -> None:
    first = filled.build(PERSONAS)
    assert filled.build(PERSONAS, force=True).digests == first.digests
    assert filled.store.version("personas") == 2


def test_build_survives_compaction_of_its_table(filled: Lake) -> None:
    built = filled.build(PERSONAS)
    filled.store.delta("personas").alter.set_table_properties({"delta.appendOnly": "false"})
    assert filled.build(PERSONAS).skipped
    assert filled.build_record("personas")["digest"] == built.digests["personas"]


def test_events_arriving_during_a_build_are_for_the_next_one(filled: Lake) -> None:
    def slow(view: View) -> dict[str, pa.Table]:
        if len(arrived) == 0:
            arrived.append(1)
            token = _allow_effects()
            with filled.spool("tests") as spool:
                spool.stream("persona", "late").emit("persona.created", {"text": "t", "blob": spool.put_blob(b"L")})
            filled.commit()
            token()
        return workload.personas(view)

    arrived: list[int] = []
    projection = replace(PERSONAS, build=slow)
    assert filled.build(projection).rows == {"personas": 4}
    assert filled.build(projection).rows == {"personas": 5}


def _allow_effects() -> Callable[[], None]:
    """Stand in for another process, which no context variable of this one reaches."""
    from lake.spool import effects_forbidden

    token = effects_forbidden.set(False)
    return lambda: effects_forbidden.reset(token)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda v: {}, r"gave \[\] but declares \['personas'\]"),
        (lambda v: {"personas": pa.table({"persona_id": ["a"]})}, "do not fit its schema"),
        (lambda v: {"personas": rows_table("personas", [persona("a", text=None)])}, "column text holds 1 nulls"),
        (lambda v: {"personas": rows_table("personas", [persona("a"), persona("a")])}, "is not unique"),
        (lambda v: [*v.events("task.proposed")] and {}, "undeclared event types"),
        (lambda v: v.table("tasks") and {}, "undeclared table tasks"),
        (lambda v: v.raw_records() and {}, "does not declare raw=True"),
        (lambda v: v.sql("select * from tasks") and {}, "what it reads must be declared"),
        (lambda v: v.sql("select * from raw_records") and {}, "what it reads must be declared"),
        (lambda v: v.sql("select recorded_at from events") and {}, "what it reads must be declared"),
        (lambda v: v.sql("select now()") and {}, "may not use 'now'"),
        (lambda v: v.sql("select random()") and {}, "may not use 'random'"),
        (lambda v: v.sql("select * from read_text('/etc/hostname')") and {}, "function 'read_text' is not allowed"),
    ],
)
def test_what_a_projection_may_not_do(filled: Lake, build: Build, message: str) -> None:
    before = filled.store.version("personas")
    with pytest.raises(LakeError, match=message):
        filled.build(replace(PERSONAS, build=build))
    assert filled.store.version("personas") == before, "nothing was written"


@pytest.mark.parametrize(
    "effect",
    [
        lambda lake_: lake_.spool("tests"),
        lambda lake_: lake_.commit(),
        lambda lake_: lake_.put_blobs([b"x"]),
        lambda lake_: lake_.append_raw("7" * 64, 0, workload.raw_rows(0)),
    ],
)
def test_a_projection_may_not_do_effects(filled: Lake, effect: Callable[[Lake], Any]) -> None:
    def build(view: View) -> dict[str, pa.Table]:
        effect(filled)
        return workload.personas(view)

    with pytest.raises(ReplayError, match="pure functions"):
        filled.build(replace(PERSONAS, build=build))
    filled.spool("tests").close()


def test_sql_of_a_projection_sees_its_events_only(filled: Lake) -> None:
    seen: list[pa.Table] = []

    def build(view: View) -> dict[str, pa.Table]:
        seen.append(view.sql("select type, count(*) as n from events where seq >= $least group by type", {"least": 0}))
        return workload.personas(view)

    filled.build(replace(PERSONAS, build=build))
    assert seen[0].to_pylist() == [{"type": "persona.created", "n": 4}]


def batches(ids: list[str], size: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(ids), size):
        yield from rows_table("personas", [persona(id_) for id_ in ids[start : start + size]]).to_batches()


def test_streamed_rows_come_out_like_a_table(filled: Lake) -> None:
    ids = [f"p{(i * 7919) % 1000:04d}" for i in range(1000)]

    def whole(view: View) -> dict[str, pa.Table]:
        return {"personas": rows_table("personas", [persona(id_) for id_ in ids])}

    def streamed(view: View) -> dict[str, pa.RecordBatchReader]:
        return {"personas": pa.RecordBatchReader.from_batches(TABLES["personas"].arrow, batches(ids, 64))}

    built = filled.build(replace(PERSONAS, build=whole))
    table = filled.table("personas")
    again = filled.build(replace(PERSONAS, version=2, build=streamed))
    assert (again.rows, again.digests) == (built.rows, built.digests)
    assert filled.table("personas").equals(table)
    assert not list((filled.root / "scratch").iterdir())


@pytest.mark.parametrize(
    ("ids", "more", "message"),
    [(["a", "b", "a"], {}, "is not unique"), (["a", "b"], {"text": None}, "column text holds 1 nulls")],
)
def test_streamed_rows_are_checked(filled: Lake, ids: list[str], more: dict[str, Json], message: str) -> None:
    def streamed(view: View) -> dict[str, pa.RecordBatchReader]:
        found = (b for id_ in ids for b in rows_table("personas", [persona(id_, **more)]).to_batches())
        return {"personas": pa.RecordBatchReader.from_batches(TABLES["personas"].arrow, found)}

    with pytest.raises(LakeError, match=message):
        filled.build(replace(PERSONAS, build=streamed))
    assert filled.store.version("personas") == 0
    assert not list((filled.root / "scratch").iterdir())


def test_rows_are_stored_in_declared_order(filled: Lake) -> None:
    rows = rows_table("personas", [persona("b"), persona("c"), persona("a")])
    assert conform("personas", rows).column("persona_id").to_pylist() == ["a", "b", "c"]


def test_log_is_never_overwritten(empty: Lake) -> None:
    with pytest.raises(LakeError, match="part of the log"):
        empty.store.overwrite("events", empty.table("events"), {})


def test_projection_is_a_value() -> None:
    assert replace(PERSONAS) == PERSONAS
    assert isinstance(PERSONAS, Projection)
