"""`clawgym explain ID`: everything a row came from, down to the bytes of a source.

Belongs here: the command. Does not belong here: the walk (`lake/explain.py`).
"""

from __future__ import annotations

import click

from clawgym_dag.cli.framework import Command, as_of_option, json_option, lake_option
from clawgym_dag.cli.output import print_json


@click.command(
    "explain",
    cls=Command,
    examples=["clawgym explain ID", "clawgym explain ID --json", "clawgym explain ID --as-of 2026-12-01T12:00:00Z"],
)
@click.argument("id", metavar="ID")
@click.option("--full", is_flag=True, help="Show each of many like rows, such as the probes of a task.")
@as_of_option()
@lake_option()
@json_option()
def explain(
    id: str,  # noqa: A002 - the word users see
    full: bool,
    as_of: str | None,
    lake_path: str | None,
    as_json: bool,
) -> None:
    """Walk from an id to its origins: SFT row, trajectory, attempt, raw bytes, task, verdict, verifier.

    ID is any id in the lake: of an example, trajectory, attempt, verdict, task (or task@version), event, record, blob.
    """
    import lake
    from lake.explain import explain as explained

    opened = lake.open(lake_path, create=False)
    found = explained(opened if as_of is None else opened.at(as_of), id)
    if as_json:
        print_json(found.to_json())
    else:
        click.echo(found.to_text(full=full))
