"""`clawgym lake compact|forget`: fewer files, and taking a source out of the lake on purpose.

Belongs here: the commands, their questions and reports. Does not belong here: what they do (`lake`).
"""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from clawgym_dag.cli.framework import Command, json_option, lake_option
from clawgym_dag.cli.output import print_json, print_record, print_table, size
from clawgym_dag.cli.running import user
from lake.errors import UsageError
from lake.forget import Forgotten, Source
from lake.schema import TABLES


@click.command(
    "compact",
    cls=Command,
    examples=[
        "clawgym lake compact",
        "clawgym lake compact events raw_records",
        "clawgym lake compact --vacuum --keep-hours 24 --json",
    ],
)
@click.argument("tables", nargs=-1)
@click.option("--vacuum", is_flag=True, help="Also remove files of old versions that no snapshot names.")
@click.option(
    "--keep-hours",
    type=click.IntRange(0),
    default=168,
    show_default=True,
    help="With --vacuum: age from which such files go; 0 also takes those that a reader or writer at work still needs, "
    "which then fails and must start anew.",
)
@lake_option()
@json_option()
def compact(tables: tuple[str, ...], vacuum: bool, keep_hours: int, lake_path: str | None, as_json: bool) -> None:
    """Merge the small files of TABLES (all where none is named). No row changes; every snapshot stays readable.

    Readers and writers may go on meanwhile; a table whose writers overtake each of several tries is given up with an
    error and may be tried again. With --vacuum that holds for reads shorter than --keep-hours. Without it nothing is
    removed, so the lake grows by the merged files.
    """
    import lake as lakes
    from lake.compact import compact as compacted

    if unknown := [name for name in tables if name not in TABLES]:
        raise UsageError(f"no table {', '.join(unknown)}; there are {', '.join(TABLES)}")
    opened = lakes.open(lake_path, create=False)
    done = compacted(opened, tables or TABLES, vacuum=vacuum, keep_hours=keep_hours)
    if as_json:
        print_json(done.to_json())
        return
    rows = [[t.table, t.files_before, t.files_after, t.files_removed] for t in done.tables]
    print_table(["table", "files before", "files after", "old files removed"], rows)


@click.command(
    "forget",
    cls=Command,
    examples=[
        "clawgym lake forget --source 3f9a --reason 'asked to by its owner'",
        "clawgym lake forget --source 3f9a --reason 'asked to' --actor person:ada --yes --json",
    ],
)
@click.option("--source", required=True, metavar="ID", help="The source's id, or a beginning that no other has.")
@click.option("--reason", required=True, help="Why; stays in the log.")
@click.option("--actor", help="Who asks for it; stays in the log. The user of this machine where not given.")
@click.option("--yes", is_flag=True, help="Do not ask. Needed where there is no terminal.")
@lake_option()
@json_option()
def forget(source: str, reason: str, actor: str | None, yes: bool, lake_path: str | None, as_json: bool) -> None:
    """Take a source out of the lake for good: its records, what only they name, every row made from them.

    The bytes leave the disk, so snapshots taken before can no longer be read where they held it. A tombstone stays in
    the log (sizes, digests, reason, actor), and an ingest does not take the source in again. What stays: the file it
    was read from, other sources of the same session or attempt, an attempt's final workspace, and checkpoints trained
    on it, which are listed. `clawgym sql "from sources"` lists sources. Run again after a kill, it goes on.

    What stays as well: the source's id, path and session id, in events, in the table sources and in the statistics that
    the Delta logs of raw_records and trajectories keep, and what Dagster's history says of the runs that read it.
    """
    import lake as lakes
    from clawgym_dag.stages import STAGES
    from lake.forget import find_source
    from lake.forget import forget as forgotten

    opened = lakes.open(lake_path, create=False)
    if not reason.strip():
        raise UsageError("--reason is empty; say why, the tombstone keeps it")
    found = find_source(opened, source)
    if not yes:
        confirm(found)
    projections = [stage.projection for stage in STAGES]
    done = forgotten(
        opened, found.source_id, reason=reason.strip(), actor=actor or f"person:{user()}", projections=projections
    )
    opened.snapshot("forget")
    if as_json:
        print_json({**done.to_json(), "related": list(found.related)})
        return
    say(found, done)


def confirm(source: Source) -> None:
    """Show what would go and ask.

    Raises:
        UsageError: there is nobody to ask.
        Abort: the answer was no.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("forget cannot be undone and there is no terminal to ask on; add --yes")
    click.echo(f"source {source.source_id}: {source.records} records, {size(source.bytes)}", err=True)
    for name, values in (
        ("kind", source.kinds),
        ("read from", source.paths),
        ("session", source.sessions),
        ("attempt", source.attempts),
    ):
        if values:
            click.echo(f"  {name}: {', '.join(values)}", err=True)
    if not click.confirm("Take it out of the lake? This cannot be undone", err=True):
        raise UsageError("nothing was forgotten: the answer was no")


def say(source: Source, done: Forgotten) -> None:
    """Report what went, and what stays that somebody who forgets should know of."""
    facts = asdict(done)
    facts["bytes"] = size(done.bytes)
    facts["rebuilt"] = f"{len(done.rebuilt)} tables"
    print_record(facts, as_json=False)
    if done.checkpoints:
        click.echo("the checkpoints above were trained on it and still hold what they learned from it")
    if source.related:
        click.echo(f"still in the lake, of the same session or attempt: {', '.join(source.related)}")
    if done.unfinished:
        click.echo("some files of unfinished writes are less than an hour old; run it again later to remove them")
