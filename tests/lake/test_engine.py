"""SQL over the lake: what is opened, what a person's SQL may do, hostile names and texts."""

from __future__ import annotations

import gc
import shutil
import threading
from pathlib import Path

import duckdb
import pytest

import lake
from lake import Lake
from lake.engine import SQL_ROOT, Engine, check_read_only, connect, mentioned, quote, view_definitions
from lake.errors import LakeError, UsageError
from lake.ids import sha256_hex
from lake.schema import TABLES
from tests.lake import workload

HOSTILE = 'it\'s "x"; drop table events; --'


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    root = tmp_path_factory.mktemp("engine") / "lake"
    workload.run(root)
    return lake.open(root)


WRITES = [
    "copy (select 1) to '{out}'",
    "copy events to '{out}'",
    "explain analyze copy (select 1) to '{out}'",
    "explain copy (select 1) to '{out}'",
    "select 1; copy (select 1) to '{out}'",
    "export database '{out}'",
    "attach '{out}' as other",
    "create table {name} (a int)",
    "create or replace view events as select 1",
    "insert into events select * from events",
    "delete from events",
    "update events set type = 'x'",
    "drop view events",
    "set enable_external_access = true",
    "pragma enable_profiling",
    "install httpfs",
    "load httpfs",
    "prepare p as copy (select 1) to '{out}'",
    "call pragma_version()",
    "detach other",
    "vacuum",
    "checkpoint",
    "use other",
]


@pytest.mark.parametrize("statement", WRITES)
def test_person_may_only_query(filled: Lake, tmp_path: Path, statement: str) -> None:
    text = statement.format(out=tmp_path / "out", name="x")
    with pytest.raises((UsageError, duckdb.Error)):
        filled.sql(text, read_only=True).fetchall()
    assert not list(tmp_path.iterdir())
    inside = statement.format(out=filled.root / "log" / "events" / "out", name="x")
    with pytest.raises((UsageError, duckdb.Error)):
        filled.sql(inside, read_only=True).fetchall()
    assert not (filled.root / "log" / "events" / "out").exists()
    assert len(list(filled.events())) == 13


READS = ["read_csv('{0}')", "read_text('{0}')", "read_blob('{0}')", "glob('{0}')", "'{0}'", "read_json('{0}')"]


@pytest.mark.parametrize("source", READS)
def test_person_reads_no_file_outside_the_lake(filled: Lake, tmp_path: Path, source: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\nhidden\n")
    with pytest.raises((UsageError, duckdb.PermissionException)):
        filled.sql("select * from " + source.format(secret), read_only=True).fetchall()


OUTSIDE = [
    "from delta_list_files('{0}')",
    "from delta_scan('{0}')",
    "from delta_scan('https://127.0.0.1:9/x')",
    "from system.main.\"DELTA_SCAN\"('{0}')",
    "select (select count(*) from delta_list_files('{0}'))",
    "with a as (from delta_scan('{0}')) from a",
    "explain analyze select * from delta_list_files('{0}')",
    "/* c */ explain select * from delta_list_files('{0}')",
    "describe select * from delta_scan('{0}')",
    "from query('from delta_' || 'list_files(''{0}'')')",
    "select 1; from parquet_metadata('{0}')",
    "unpivot delta_scan('{0}') on columns(*)",
]


@pytest.mark.parametrize("statement", OUTSIDE)
def test_no_table_function_reaches_another_lake_or_an_address(filled: Lake, tmp_path: Path, statement: str) -> None:
    workload.run(tmp_path / "other")
    other = tmp_path / "other" / "log" / "raw_records"
    with pytest.raises(UsageError, match=r"table function .* is not allowed"):
        filled.sql(statement.format(other), read_only=True).fetchall()


def test_a_persons_sql_reads_nothing_below_the_working_folder(
    filled: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    secret = tmp_path / ".tmp" / "secret.csv"
    secret.parent.mkdir()
    secret.write_text("a\nhidden\n")
    fresh = lake.open(filled.root)
    for kind in ("person", "projection"):
        cursor = fresh.store.engines.get(kind).cursor({})
        with pytest.raises(duckdb.PermissionException):
            cursor.execute(f"from '{secret}'")
        found = cursor.execute("select current_setting('temp_directory')").fetchone()
        assert found and Path(found[0]).parent == filled.root / "scratch"


def test_confined_sql_spills_below_the_lake(tmp_path: Path) -> None:
    engine = Engine(confined_to=tmp_path, threads=1, memory="60MB")
    cursor = engine.cursor({})
    cursor.execute("select * from (select repeat('x', 100) || r as t from range(1000000) a(r)) order by t")
    assert len(cursor.fetchmany(10)) == 10
    assert list((tmp_path / "scratch").glob("sql-*/*"))


QUERIES = [
    "/* c */ explain select 1",
    "-- ü\nexplain /* n /* m */ */ analyze select 'é'",
    "explain (select 1)",
    "explain (format json) select 1",
    "select * from range(3), unnest([1, 2])",
    "select count(*) from events",
    "with a as (select 1 as x) select * from a",
    "from events limit 1",
    "explain select * from events",
    "explain analyze select * from events",
    "describe events",
    "summarize personas",
    "show tables",
    "values (1), (2)",
    "select 1; select 2",
    "pivot personas on domain in ('tests') using count(*)",
    "-- a comment\nselect 1",
]


@pytest.mark.parametrize("statement", QUERIES)
def test_person_may_query(filled: Lake, statement: str) -> None:
    assert filled.sql(statement, read_only=True).fetchall()


def test_person_reads_tables_of_the_lake_only(filled: Lake) -> None:
    secret = filled.root / "attempts" / "a1" / "state.json"
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_text('{"token": 1}')
    with pytest.raises(UsageError, match="read_text"):
        filled.sql(f"select * from read_text('{secret}')", read_only=True).fetchall()
    with pytest.raises(duckdb.PermissionException):
        connect(filled.store, read_only=True).execute(f"select * from read_text('{secret}')")
    with pytest.raises(duckdb.Error):
        filled.sql("select * from 'https://127.0.0.1:9/x.parquet'", read_only=True).fetchall()


def test_settings_of_a_persons_sql_are_locked(filled: Lake) -> None:
    cursor = connect(filled.store, read_only=True)
    for setting in ("enable_external_access = true", "allowed_directories = ['/']", "lock_configuration = false"):
        with pytest.raises(duckdb.Error):
            cursor.execute(f"set {setting}")


def test_sql_that_does_not_parse_says_so(filled: Lake) -> None:
    with pytest.raises(UsageError, match="the SQL cannot be read"):
        filled.sql("selec 1", read_only=True)
    with pytest.raises(UsageError, match="there is no SQL statement"):
        check_read_only(" -- nothing\n")


def test_unknown_table_is_duckdbs_error(filled: Lake) -> None:
    with pytest.raises(duckdb.CatalogException, match="nothing_here"):
        filled.sql("select * from nothing_here").fetchall()


def test_hostile_texts_are_values(filled: Lake) -> None:
    assert filled.sql("select count(*) from personas where name = $name", {"name": HOSTILE}).fetchall() == [(0,)]
    assert list(filled.events(HOSTILE, stream_kind=HOSTILE)) == []
    assert filled.streams(HOSTILE, [HOSTILE]) == set()
    with pytest.raises(LakeError, match="is not in"):
        filled.blob(HOSTILE)
    with pytest.raises(KeyError):
        filled.table(HOSTILE)


def test_quote_keeps_an_identifier_one_identifier() -> None:
    connection = duckdb.connect()
    connection.execute(f"create table {quote(HOSTILE)} (a int)")
    assert connection.execute("select table_name from duckdb_tables()").fetchall() == [(HOSTILE,)]


def test_lake_in_a_folder_with_a_hostile_name(tmp_path: Path) -> None:
    root = tmp_path / 'it\'s; drop table x -- "ü" #?&{} *'
    workload.run(root)
    opened = lake.open(root)
    assert opened.sql("select count(*) from personas", read_only=True).fetchall() == [(workload.STREAMS,)]
    assert len(opened.blob(sha256_hex(workload.raw_rows(0)[3]["raw"]))) > 1024 * 1024
    snapshot = opened.snapshot("test")
    assert opened.sql("select count(*) from events", as_of=snapshot).fetchall() == [(13,)]


def test_only_the_tables_a_query_mentions_are_opened(filled: Lake) -> None:
    definitions = {"overview": "create or replace view overview as select * from attempts join tasks using (task_id)"}
    names = set(TABLES) | set(definitions)
    assert mentioned("select * from EVENTS e", names, definitions) == {"events"}
    assert mentioned('select * from "overview"', names, definitions) == {"overview", "attempts", "tasks"}
    assert mentioned("select 1", names, definitions) == set()
    assert mentioned("show tables", names, definitions) == names
    reader = filled.now()
    reader.sql("select count(*) from personas").fetchall()
    assert set(reader._places) == {"personas"}


def test_table_named_only_inside_a_string_is_found_in_the_end(filled: Lake) -> None:
    assert filled.sql("select * from query('select count(*) from ' || 'pers' || 'onas')").fetchall() == [(4,)]


def test_every_view_of_the_sql_folder_opens(filled: Lake) -> None:
    for name in view_definitions():
        filled.sql(f"select * from {quote(name)} limit 1", read_only=True).fetchall()


def test_view_file_that_is_no_view_says_so(filled: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "odd.sql").write_text("select 1")
    monkeypatch.setattr("lake.engine.SQL_ROOT", tmp_path)
    with pytest.raises(UsageError, match=r"odd\.sql must hold one statement"):
        filled.sql("select * from odd")
    assert SQL_ROOT.is_dir()


def test_result_outlives_its_connection_and_later_commits(empty: Lake) -> None:
    workload.effects(empty)
    empty.commit()
    relation = empty.sql("select stream_id, seq from events order by all")
    with empty.spool("tests") as spool:
        spool.stream("persona", "later").emit("persona.noted", {})
    empty.commit()
    gc.collect()
    assert len(relation.fetchall()) == 12, "a relation reads the state it was made on"
    assert empty.sql("select count(*) from events").fetchall() == [(13,)]


def test_events_are_those_of_the_moment_they_were_asked_for(empty: Lake) -> None:
    workload.effects(empty)
    empty.commit()
    events = empty.events()
    with empty.spool("tests") as spool:
        spool.stream("persona", "later").emit("persona.noted", {})
    empty.commit()
    assert len(list(events)) == 12


def test_threads_read_while_others_commit(empty: Lake) -> None:
    wrong: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(10):
                counts = [len(list(empty.events())), empty.sql("select count(*) from events").fetchall()[0][0]]
                assert counts == sorted(counts), "a later read saw less"
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for n in range(5):
        with empty.spool("tests") as spool:
            spool.stream("persona", f"p{n}").emit("persona.noted", {})
        empty.commit()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(list(empty.events())) == 5


def test_full_instance_is_replaced(empty: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lake.engine._MAX_ATTACHED", 3)
    relation = empty.sql("select count(*) from events")
    for name in list(TABLES)[:8]:
        assert empty.table(name).num_rows == 0
    assert relation.fetchall() == [(0,)]


def test_unreadable_table_is_a_lake_error(empty: Lake) -> None:
    for entry in (empty.store.path("personas") / "_delta_log").iterdir():
        entry.write_text("nonsense") if entry.is_file() else None
    with pytest.raises(LakeError, match="verify"):
        lake.open(empty.root).table("personas")


def test_another_lake_at_the_same_path_is_another_lake(tmp_path: Path) -> None:
    for count in (1, 2):
        opened = lake.open(tmp_path / "lake")
        for n in range(count):
            with opened.spool("tests") as spool:
                spool.stream("persona", f"p{n}").emit("persona.noted", {})
        opened.commit()
        assert opened.sql("select count(*) from events").fetchall() == [(count,)]
        assert len(list(opened.events())) == count
        shutil.rmtree(tmp_path / "lake")
