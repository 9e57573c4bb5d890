"""Commands that read, on the synthetic lake."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import lake
from clawgym_dag.cli.main import root
from tests.clawgym_dag.conftest import Call
from tests.clawgym_dag.test_cli import ALL

LISTS = [path for path in ALL if path[-1] in ("list", "report", "decisions")]
READS = [*LISTS, ("lake", "tables"), ("lake", "snapshots")]


@pytest.mark.parametrize("path", READS, ids=" ".join)
def test_lists_print_a_table_and_the_same_rows_as_json(path: tuple[str, ...], call: Call, mini: Path) -> None:
    as_json = call(*path, "--json")
    assert as_json.code == 0, as_json.err
    rows = json.loads(as_json.out)
    assert rows
    table = call(*path)
    assert table.code == 0
    for row in rows:
        assert str(next(iter(row.values()))) in table.out


@pytest.mark.parametrize("path", LISTS, ids=" ".join)
def test_lists_read_the_past(path: tuple[str, ...], call: Call, mini: Path) -> None:
    called = call(*path, "--as-of", "1999-01-01T00:00:00Z")
    assert called.code == 2
    assert "no snapshot at or before 1999-01-01" in called.err


def test_limit_and_filters(call: Call, mini: Path) -> None:
    assert len(json.loads(call("trajectories", "list", "--limit", "2", "--json").out)) == 2
    weak = json.loads(call("trajectories", "list", "--policy", "weak", "--json").out)
    assert weak
    assert all("weak" in row["policy"] for row in weak)
    empty = call("rollouts", "list", "--batch", "no such")
    assert (empty.code, empty.out) == (0, "no attempt is so; `clawgym rollouts run` runs some\n")


def test_own_logs_are_recognised(call: Call, mini: Path) -> None:
    """A line of an external log says what was asked of which model, and has no column that says nothing."""
    every = call("trajectories", "list", "--policy", "external log")
    rows = json.loads(call("trajectories", "list", "--policy", "external log", "--json").out)
    assert rows
    assert all(row["label"] and row["model"] and row["task_id"] is None for row in rows)
    names = every.out.splitlines()[0].split()
    assert names[:4] == ["trajectory_id", "label", "model", "class"]
    assert not {"task_id", "policy", "score_code"} & set(names)
    assert "policy" in call("trajectories", "list").out.splitlines()[0].split()


@pytest.mark.parametrize("noun", ["rollouts", "tasks", "verdicts", "trajectories"])
def test_a_list_that_is_cut_says_so(noun: str, call: Call, mini: Path) -> None:
    cut = call(noun, "list", "--limit", "2")
    assert len(cut.out.splitlines()) == 3
    assert cut.err == "the first 2; there are more, --limit N shows them\n"
    assert len(json.loads(call(noun, "list", "--limit", "2", "--json").out)) == 2
    assert call(noun, "list", "--limit", "100000").err == ""


def test_explain_takes_the_beginning_of_an_id(call: Call, mini: Path) -> None:
    wanted = lake.open(mini).rows("attempts")[0]["attempt_id"]
    assert call("explain", wanted[:12]).out.splitlines()[0].startswith(f"attempts {wanted}")


def test_no_command_prints_the_help(call: Call) -> None:
    assert "Exit codes:" in call().out


@pytest.mark.parametrize(
    ("noun", "table", "column"),
    [
        ("tasks", "tasks", "task_id"),
        ("rollouts", "attempts", "attempt_id"),
        ("trajectories", "trajectories", "trajectory_id"),
    ],
)
def test_show_finds_an_id_and_its_beginning(noun: str, table: str, column: str, call: Call, mini: Path) -> None:
    wanted = lake.open(mini).rows(table)[0][column]
    shown = json.loads(call(noun, "show", wanted, "--json").out)
    assert shown[column] == wanted
    assert wanted in call(noun, "show", wanted).out
    beginning = call(noun, "show", wanted[:-1], "--json")
    if beginning.code == 0:
        assert json.loads(beginning.out)[column] == wanted
    else:
        assert f"{wanted[:-1]!r} is the beginning of" in beginning.err


def test_show_says_when_there_is_none_or_several(call: Call, mini: Path) -> None:
    none = call("rollouts", "show", "zzz")
    assert (none.code, none.err) == (2, "clawgym: no attempt 'zzz'; see `clawgym rollouts list`\n")
    assert "`clawgym trajectories list`" in call("trajectories", "show", "zzz").err
    several = call("rollouts", "show", "")
    assert several.code == 2
    assert "give more of it" in several.err


def test_trajectory_is_shown_step_by_step(call: Call, mini: Path) -> None:
    (row,) = json.loads(call("trajectories", "list", "--limit", "1", "--json").out)
    shown = call("trajectories", "show", row["trajectory_id"])
    assert shown.out.count("→ ") == row["tool_calls"]


def test_sql_in_three_shapes(call: Call, mini: Path) -> None:
    query = "select stage, n from funnel where stage in ('tasks', 'attempts') order by position"
    rows = json.loads(call("sql", query, "--json").out)
    assert [row["stage"] for row in rows] == ["tasks", "attempts"]
    assert list(csv.DictReader(io.StringIO(call("sql", query, "--csv").out))) == [
        {"stage": row["stage"], "n": str(row["n"])} for row in rows
    ]
    table = call("sql", query)
    assert table.out.splitlines()[0].split() == ["stage", "n"]
    assert table.err == "(2 rows)\n"


def test_sql_from_a_file_and_from_a_pipe(
    call: Call, mini: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a b.sql"
    file.write_text("select 1 as one;\nselect 2 as two;\n")
    assert call("sql", "-f", str(file), "--csv").out == "one\n1\ntwo\n2\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("select 3 as three"))
    assert call("sql", "--csv").out == "three\n3\n"


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("drop table events", "only queries are allowed"),
        ("copy (select 1) to '/tmp/x.csv'", "only queries are allowed"),
        ("select * from read_text('/etc/hostname')", "function 'read_text' is not allowed"),
        ("select nonsense from funnel", "nonsense"),
        ("selekt", "the SQL cannot be read|SQL: "),
        ("", "no SQL statement"),
    ],
)
def test_sql_reads_only_and_fails_in_one_line(query: str, says: str, call: Call, mini: Path) -> None:
    called = call("sql", query)
    assert called.code == 2
    assert called.err.count("\n") == 1
    assert any(part in called.err for part in says.split("|"))


def test_sql_prompt(call: Call, mini: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter([".tables", ".schema funnel", "select 41 +", "1 as n;", "selekt;", ".help", ".quit"])

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    called = call("sql")
    assert called.code == 0
    assert "attempts" in called.out
    assert "position" in called.out
    assert "42" in called.out
    assert "selekt" in called.err
    assert ".schema NAME" in called.out


@pytest.mark.parametrize("noun", ["sft", "trajectories"])
def test_export_is_repeatable_and_does_not_overwrite(noun: str, call: Call, mini: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    assert call(noun, "export", "--to", str(first)).code == 0
    assert call(noun, "export", "--to", str(second)).code == 0
    assert first.read_bytes() == second.read_bytes()
    rows = [json.loads(line) for line in first.read_text().splitlines()]
    assert rows
    assert all(row["messages"] and isinstance(row["tools"], list) for row in rows)
    again = call(noun, "export", "--to", str(first))
    assert again.code == 2
    assert "--force" in again.err
    assert call(noun, "export", "--to", str(first), "--force").code == 0
    nowhere = call(noun, "export", "--to", str(tmp_path / "no" / "folder.jsonl"))
    assert (nowhere.code, nowhere.err.count("\n")) == (2, 1)


def test_teachers_and_models_are_reported_apart(call: Call, mini: Path) -> None:
    report = call("bench", "report").out
    models, teachers = report.split("scripted teachers:")
    assert "scripted:" not in models
    assert "scripted:" in teachers


def test_commands_stand_in_the_order_of_the_loop(call: Call) -> None:
    help_text = call("--help").out.split("Commands:")[1].split("Exit codes:")[0]
    assert [line.split()[0] for line in help_text.splitlines() if line.startswith("  ") and line[2] != " "] == list(
        root.commands
    )


def test_status_in_figures(call: Call, mini: Path) -> None:
    status = json.loads(call("lake", "status", "--json").out)
    tables = {table["table"]: table["rows"] for table in status["tables"]}
    assert tables["attempts"] == lake.open(mini).table("attempts").num_rows
    text = call("lake", "status")
    assert text.code == 0
    assert "waiting in the spool: 0 segments" in text.out


def test_columns_of_a_table(call: Call, mini: Path) -> None:
    rows = json.loads(call("lake", "tables", "attempts", "--json").out)
    assert rows[0]["column"] == "attempt_id"
    unknown = call("lake", "tables", "nonsense")
    assert (unknown.code, unknown.err.count("\n")) == (2, 1)


def test_explain_reaches_the_bytes(call: Call, mini: Path) -> None:
    example = lake.open(mini).rows("sft_examples")[0]["example_id"]
    explained = call("explain", example)
    assert explained.code == 0
    for word in ("trajector", "attempt", "raw_records", "task"):
        assert word in explained.out
    assert json.loads(call("explain", example, "--json").out)["id"] == example
    assert call("explain", "no such id").code == 2


def test_replay_names_unknown_stages(call: Call, mini: Path) -> None:
    called = call("replay", "nonsense")
    assert called.code == 2
    assert "no stage nonsense; there are personas" in called.err
