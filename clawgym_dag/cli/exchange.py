"""`clawgym tasks import` and `clawgym tasks export`: published tasks in and out.

Belongs here: the commands. Does not belong here: the formats (`assets/tasks/exchange`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

import lake
from assets.tasks import STAGE
from assets.tasks.exchange import FORMATS, Exported, ImportReport, export_tasks, format_named, import_tasks, recognised
from clawgym_dag.cli.framework import Command, json_option, lake_option
from clawgym_dag.cli.output import print_json
from clawgym_dag.cli.progress import TerminalProgress

_NAMED = 20
"""Refused tasks that are named; `--json` names all."""


@click.command(
    "import",
    cls=Command,
    examples=[
        "clawgym tasks import RL/data/clawgym_train",
        "clawgym tasks import RL/data/clawgym_eval --split bench:clawgym-eval",
        "clawgym tasks import syn_task.jsonl --format clawgym-jsonl --licence Apache-2.0 --limit 100 --json",
    ],
    codes=(6,),
)
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(list(FORMATS)), help="Its format; found by looking where not given."
)
@click.option(
    "--as", "collection", metavar="NAME", help="Name of the set, the beginning of each id; that of PATH else."
)
@click.option(
    "--licence", metavar="SPDX", help="Licence of the tasks; read from a LICENSE file nearby where not given."
)
@click.option("--split", metavar="SPLIT", help="Where accepted ones go: train, validation, test, bench:<suite>.")
@click.option("--limit", type=click.IntRange(1), help="Tasks read; all where not given.")
@lake_option()
@json_option()
def import_(
    path: Path,
    form: str | None,
    collection: str | None,
    licence: str | None,
    split: str | None,
    limit: int | None,
    lake_path: str | None,
    as_json: bool,
) -> None:
    """Take published tasks at PATH into the lake, with what is known to be wrong with each.

    Their verifiers run unchanged. A task that cannot be taken is named with the reason; known ones are left alone.
    `clawgym tasks audit` then probes their verifiers.
    """
    chosen = recognised(path) if form is None else format_named(form)
    opened = lake.open(lake_path)
    progress = TerminalProgress(sys.stderr)
    done = import_tasks(
        opened,
        path,
        chosen,
        collection=collection,
        licence=licence,
        split=split,
        limit=limit,
        progress=progress.line("tasks"),
    )
    progress.clear()
    opened.build(STAGE.projection)
    if as_json:
        print_json({"format": chosen.name, **_plain(done)})
        return
    click.echo(
        f"{chosen.name}: {done.read} read, {done.proposed} new, {done.found} known already, {len(done.refused)} refused"
    )
    for name, count in sorted(done.defects.items()):
        click.echo(f"  {count} with {name}")
    _refused(done)


@click.command(
    "export",
    cls=Command,
    examples=[
        "clawgym tasks export --to tasks",
        "clawgym tasks export --to harbor --format harbor expense_claims-s0000",
    ],
)
@click.argument("names", metavar="[TASKS]...", nargs=-1)
@click.option("--to", "target", required=True, type=click.Path(path_type=Path), help="A new or empty folder.")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="clawgym-folder", show_default=True)
@click.option("--collection", metavar="NAME", help="Only tasks that were imported under this name.")
@lake_option()
@json_option()
def export(
    names: tuple[str, ...], target: Path, form: str, collection: str | None, lake_path: str | None, as_json: bool
) -> None:
    """Write TASKS (all where none is named) to a folder; imported ones, in their own format, byte for byte.

    A task that the format cannot express is named with the reason.
    """
    opened = lake.open(lake_path, create=False)
    progress = TerminalProgress(sys.stderr)
    done = export_tasks(
        opened,
        target,
        format_named(form),
        task_ids=names or None,
        collection=collection,
        progress=progress.line("tasks"),
    )
    progress.clear()
    if as_json:
        print_json({"format": form, **_plain(done)})
        return
    click.echo(f"{form}: {done.tasks} tasks in {done.files} files below {target}, {len(done.refused)} left out")
    _refused(done)


def _plain(done: ImportReport | Exported) -> dict[str, Any]:
    return {**vars(done), "refused": [{"source": item.source, "reason": item.reason} for item in done.refused]}


def _refused(done: ImportReport | Exported) -> None:
    for item in done.refused[:_NAMED]:
        click.echo(f"  {item.source}: {item.reason}", err=True)
    if len(done.refused) > _NAMED:
        click.echo(f"  … and {len(done.refused) - _NAMED} more; --json names all", err=True)
