"""`clawgym demo`: the whole loop, then the funnel.

Belongs here: the command and its closing words. Does not belong here: the job (`clawgym_dag/jobs.py`).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click

from clawgym_dag.cli.framework import Command, json_option, lake_option, overrides_toml, profile_options
from clawgym_dag.cli.output import print_json, print_rows
from clawgym_dag.cli.read import query
from lake import Lake


@click.command(
    "demo",
    cls=Command,
    examples=["clawgym demo", "clawgym demo --set rollouts.repeats=2", "clawgym demo --profile test --json"],
    codes=(3, 7),
)
@profile_options()
@lake_option()
@json_option()
def demo(profile: str, overrides: tuple[str, ...], lake_path: str | None, as_json: bool) -> None:
    """Run every stage, from personas to bench scores, and show what came of it.

    What is done already is not done again: a second run finds nothing to do, and one that was killed goes on.
    """
    import lake
    from clawgym_dag.cli.progress import TerminalProgress
    from clawgym_dag.run import run_job

    opened = lake.open(lake_path)
    progress = TerminalProgress(sys.stderr)
    started = time.monotonic()
    run_job(opened, "demo", progress, profile=profile, overrides=overrides_toml(overrides))
    seconds = time.monotonic() - started
    rows = funnel(opened)
    if as_json:
        print_json({"changed": progress.changed, "seconds": round(seconds, 1), "funnel": rows})
        return
    click.echo("" if progress.changed else "\nnothing to do: every stage was up to date")
    print_rows(rows, as_json=False, empty="")
    click.echo(f"\n{seconds:.0f} s; the lake is {shown(opened.root)}. Where to look next:")
    for line in where_next():
        click.echo(f"  {line}")


def funnel(lake: Lake) -> list[dict[str, Any]]:
    """How much is left at each stage: rows of the view `funnel`."""
    return query(lake, "select stage, n, label, detail from funnel order by position")


def where_next() -> list[str]:
    """Commands to go on with."""
    commands = {
        "make dashboard": "pages: funnel, trajectories, tasks, bench",
        "make ui": "Dagster: the asset graph, its checks and lineage",
        "clawgym trajectories list": "the runs, cleaned; then `clawgym trajectories show ID`",
        "clawgym bench report": "scores with intervals",
        'clawgym sql "from trajectory_statistics"': "turns, tokens and tool calls, ours beside the paper's",
    }
    return [f"{command:<42} {what}" for command, what in commands.items()]


def shown(path: Path) -> str:
    """A path as a person would type it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
