"""`--dry-run`: what a run is going to ask of model endpoints, before it asks anything.

Belongs here: the option and its output. Does not belong here: the figures (`assets/rollouts/forecast.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

import lake
from clawgym_dag.cli.framework import overrides_toml
from clawgym_dag.cli.output import print_json

if TYPE_CHECKING:
    from assets.rollouts import PlannedAttempt
    from assets.stage import Context


def dry_run_option() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--dry-run`: predict, do nothing."""
    return click.option(
        "--dry-run",
        is_flag=True,
        help="Only say how many attempts are open, and the tokens and cost predicted of those through an endpoint.",
    )


def print_forecast(
    preview: Callable[[Context], Sequence[PlannedAttempt]],
    lake_path: str | None,
    *,
    profile: str,
    overrides: Sequence[str],
    as_json: bool,
) -> None:
    """Print the forecast of what `preview` would plan; the lake is only read."""
    from assets.rollouts import forecast
    from assets.stage import Context
    from clawgym_dag.profiles import load_profile

    context = Context(lake.open(lake_path, create=False), load_profile(profile, overrides_toml(overrides)))
    attempts = preview(context)
    found = forecast(context, attempts)
    if as_json:
        print_json(found.json())
        return
    if not attempts:
        click.echo("no accepted task to run on: `clawgym tasks generate`, then `clawgym tasks audit`; both are free")
    for line in found.lines():
        click.echo(line)
