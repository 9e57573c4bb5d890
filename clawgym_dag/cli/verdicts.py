"""`clawgym verdicts`: grade what ended, grade again, list verdicts.

Belongs here: the commands. Does not belong here: grading (`assets/grading`, `assets/verdicts`).
"""

from __future__ import annotations

import sys
import uuid

import click

import lake
from clawgym_dag.cli.framework import (
    as_of_option,
    command,
    json_option,
    lake_option,
    limit_option,
    overrides_toml,
    profile_options,
)
from clawgym_dag.cli.output import print_json, print_rows
from clawgym_dag.cli.progress import TerminalProgress
from clawgym_dag.cli.read import query
from clawgym_dag.cli.running import report, run_stages


@click.group("verdicts")
def verdicts() -> None:
    """Grade attempts and list verdicts."""


@command(verdicts, "run", examples=["clawgym verdicts run", "clawgym verdicts run --json"], codes=(3, 7))
@profile_options()
@lake_option()
@json_option()
def run(profile: str, overrides: tuple[str, ...], lake_path: str | None, as_json: bool) -> None:
    """Grade each attempt with an agent ending that this verifier version has not graded yet."""
    _, progress = run_stages(lake_path, "collect_rollouts", profile=profile, overrides=overrides, stages=("verdicts",))
    report(progress, as_json)


@command(
    verdicts,
    "regrade",
    examples=["clawgym verdicts regrade", "clawgym verdicts regrade expense_claims-s0000 --json"],
    codes=(3, 7),
)
@click.argument("tasks", nargs=-1)
@profile_options()
@lake_option()
@json_option()
def regrade(
    tasks: tuple[str, ...], profile: str, overrides: tuple[str, ...], lake_path: str | None, as_json: bool
) -> None:
    """Grade old attempts again by a repaired verifier, without running an agent: a further verdict, none replaced.

    Taken are attempts at TASKS (all where none is named) whose latest task version has another verifier and the same
    instruction and inputs.
    """
    from assets.stage import Context
    from assets.verdicts import regrade as graded_again
    from clawgym_dag.profiles import load_profile

    opened = lake.open(lake_path, create=False)
    live = TerminalProgress(sys.stderr)
    settings = load_profile(profile, overrides_toml(overrides))
    context = Context(opened, settings, uuid.uuid4().hex, live.line("regrade"))
    counts = dict(graded_again(context, tasks or None))
    live.clear()
    _, progress = run_stages(lake_path, "collect_rollouts", profile=profile, overrides=overrides, stages=("verdicts",))
    if as_json:
        print_json({"regraded": counts, "verdicts": progress.runs["verdicts"].built.rows["verdicts"]})
    else:
        click.echo(", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing to grade again")


@command(
    verdicts,
    "list",
    examples=["clawgym verdicts list", "clawgym verdicts list --status verifier_error --json"],
)
@click.option("--status", help="Only this status: scored, verifier_error, verifier_timeout, …")
@limit_option()
@as_of_option()
@lake_option()
@json_option()
def list_(status: str | None, limit: int, as_of: str | None, lake_path: str | None, as_json: bool) -> None:
    """List verdicts, the latest of each attempt marked."""
    rows = query(
        lake.open(lake_path, create=False),
        "select verdict_id, attempt_id, task_id, status, score_code, checks_passed, checks_total, wrapper_score,"
        " is_latest, detail from verdicts where ($status is null or status = $status)"
        " order by task_id, attempt_id, verdict_id",
        {"status": status},
        as_of=as_of,
        limit=limit,
    )
    nothing = "no verdict is so" if status else "no verdict yet"
    print_rows(rows, as_json, empty=f"{nothing}; `clawgym verdicts run` grades what has ended", limit=limit)
