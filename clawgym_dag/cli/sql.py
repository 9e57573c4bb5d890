"""`clawgym sql`: read-only SQL over every table and view: one shot, from a file, from a pipe, or at a prompt.

Belongs here: the command and its prompt. Does not belong here: the engine (`lake/engine.py`), queries (`sql/`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click
import duckdb

from clawgym_dag.cli.framework import Command, as_of_option, json_option, lake_option
from clawgym_dag.cli.output import print_csv, print_json, print_table
from lake import Lake
from lake.engine import quote
from lake.errors import ClawGymError, UsageError

Format = Literal["table", "json", "csv"]

_HELP = """\
  SELECT …;         run a query; it may go over several lines and ends with ;
  .tables           tables and views
  .schema NAME      columns of one
  .quit             leave (so does Ctrl-D)"""


@click.command(
    "sql",
    cls=Command,
    examples=[
        'clawgym sql "select stage, n, label from funnel order by position"',
        'clawgym sql --json "select task_id, status, split from task_status limit 3"',
        'clawgym sql --csv "select policy, count(*) as n from attempts group by policy"',
        "clawgym sql -f sql/examples/07_why_not_in_training.sql",
        'echo "select count(*) from events" | clawgym sql',
        "clawgym sql   (a prompt)",
    ],
)
@click.argument("query", required=False)
@click.option("-f", "--file", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Read SQL.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option()
@as_of_option()
@lake_option()
def sql(
    query: str | None, file: Path | None, as_csv: bool, as_json: bool, as_of: str | None, lake_path: str | None
) -> None:
    """Ask the lake anything in SQL (DuckDB's). Only queries are allowed; files outside the lake cannot be read."""
    import lake

    if query is not None and file is not None:
        raise UsageError("give a query or a file with -f, not both")
    if as_csv and as_json:
        raise UsageError("give --json or --csv, not both")
    opened = lake.open(lake_path, create=False)
    shape: Format = "json" if as_json else "csv" if as_csv else "table"
    text = query if file is None else file.read_text(encoding="utf-8")
    if text is None and not sys.stdin.isatty():
        text = sys.stdin.read()
    if text is not None:
        run_text(opened, text, shape, as_of)
    else:
        prompt(opened, shape, as_of)


def run_text(lake: Lake, text: str, shape: Format, as_of: str | None) -> None:
    """Run the statements of a text one after the other and print each result.

    Raises:
        UsageError: SQL that does not parse, is no query, or fails.
    """
    try:
        statements = [statement.query for statement in duckdb.extract_statements(text)]
        if not statements:
            raise UsageError("there is no SQL statement to run")
        for statement in statements:
            relation = lake.sql(statement, as_of=as_of, read_only=True)
            show(list(relation.columns), relation.fetchall(), shape)
    except duckdb.Error as error:
        raise UsageError(f"SQL: {first_lines(error)}") from error


def first_lines(error: duckdb.Error) -> str:
    """DuckDB's message without the picture of where it happened."""
    return str(error).split("\n\nLINE", maxsplit=1)[0]


def show(columns: list[str], rows: list[tuple[object, ...]], shape: Format) -> None:
    """Print one result."""
    if shape == "json":
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    elif shape == "csv":
        print_csv(columns, rows)
    else:
        print_table(columns, rows)
        click.echo(f"({len(rows)} row{'' if len(rows) == 1 else 's'})", err=True)


def prompt(lake: Lake, shape: Format, as_of: str | None) -> None:
    """Read statements from the terminal until the end of input; an error ends the statement, not the prompt."""
    import readline  # noqa: F401 - importing it gives input() its history and editing

    click.echo(f"SQL on {lake.root}; .help says what else there is")
    waiting = ""
    while True:
        try:
            line = input("   ...> " if waiting else "clawgym> ")
        except EOFError:
            click.echo()
            return
        except KeyboardInterrupt:
            waiting = ""
            click.echo()
            continue
        if not waiting and line.strip().startswith("."):
            if not command(lake, line.split()):
                return
            continue
        waiting = f"{waiting}\n{line}" if waiting else line
        if not waiting.strip():
            waiting = ""
        elif waiting.rstrip().endswith(";"):
            attempt(lake, waiting, shape, as_of)
            waiting = ""


def attempt(lake: Lake, text: str, shape: Format, as_of: str | None) -> None:
    """Run a text; print its error where it has one."""
    try:
        run_text(lake, text, shape, as_of)
    except ClawGymError as error:
        click.echo(str(error), err=True)


def command(lake: Lake, words: list[str]) -> bool:
    """Run a dot command; False when it means to leave."""
    match words:
        case [".quit" | ".exit"]:
            return False
        case [".tables"]:
            attempt(lake, "select distinct table_name as name from duckdb_columns() order by 1", "table", None)
        case [".schema", name]:
            query = f"select column_name, column_type from (describe {quote(name)})"  # noqa: S608 - quoted
            attempt(lake, query, "table", None)
        case _:
            click.echo(_HELP)
    return True
