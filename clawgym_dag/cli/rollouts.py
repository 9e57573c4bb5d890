"""`clawgym rollouts`: run the agent, list and show its attempts.

Belongs here: the commands. Does not belong here: how an attempt runs (`assets/rollouts`).
"""

from __future__ import annotations

import click

import lake
from clawgym_dag.cli.framework import as_of_option, command, json_option, lake_option, limit_option, profile_options
from clawgym_dag.cli.output import print_json, print_record, print_rows
from clawgym_dag.cli.read import find, query
from clawgym_dag.cli.running import report, run_stages
from clawgym_dag.cli.spending import dry_run_option, print_forecast


@click.group("rollouts")
def rollouts() -> None:
    """Run the agent on accepted tasks, list and show its attempts."""


@command(
    rollouts,
    "run",
    examples=[
        "clawgym rollouts run",
        "clawgym rollouts run --set rollouts.repeats=2 --set rollouts.batch=second",
        "clawgym rollouts run --dry-run --set 'rollouts.policies=[\"openai:some-model\"]'",
    ],
    codes=(3, 7),
)
@profile_options()
@dry_run_option()
@lake_option()
@json_option()
def run(profile: str, overrides: tuple[str, ...], dry_run: bool, lake_path: str | None, as_json: bool) -> None:
    """Run every planned attempt that has not ended, clean what it logged and grade its workspace.

    Attempts in the log are not run again; other policies, repeats or seeds are other attempts. The same command resumes
    a run that was interrupted, killed or stopped by a cap: what its dead runner left is stated as lost and tried again.
    """
    if dry_run:
        from assets.rollouts import preview

        print_forecast(preview, lake_path, profile=profile, overrides=overrides, as_json=as_json)
        return
    _, progress = run_stages(lake_path, "collect_rollouts", profile=profile, overrides=overrides)
    report(progress, as_json)


@command(
    rollouts,
    "list",
    examples=["clawgym rollouts list", "clawgym rollouts list --ending gave_up", "clawgym rollouts list --json"],
)
@click.option("--policy", help="Only policies that contain this.")
@click.option("--ending", help="Only this ending: finished, gave_up, turn_limit, …, lost.")
@click.option("--batch", help="Only this batch.")
@limit_option()
@as_of_option()
@lake_option()
@json_option()
def list_(
    policy: str | None,
    ending: str | None,
    batch: str | None,
    limit: int,
    as_of: str | None,
    lake_path: str | None,
    as_json: bool,
) -> None:
    """List attempts with their ending and score."""
    rows = query(
        lake.open(lake_path, create=False),
        "select attempt_id, task_id, policy, purpose, batch, ending, score_code, checks_passed, checks_total, turns,"
        " tool_calls, duration_s from attempt_overview where ($policy is null or contains(policy, $policy))"
        " and ($ending is null or ending = $ending) and ($batch is null or batch = $batch)"
        " order by purpose, task_id, policy, attempt_id",
        {"policy": policy, "ending": ending, "batch": batch},
        as_of=as_of,
        limit=limit,
    )
    nothing = "no attempt is so" if policy or ending or batch else "no attempt yet"
    print_rows(rows, as_json, empty=f"{nothing}; `clawgym rollouts run` runs some", limit=limit)


@command(rollouts, "show", examples=["clawgym rollouts show ATTEMPT", "clawgym rollouts show ATTEMPT --json"])
@click.argument("attempt")
@as_of_option()
@lake_option()
@json_option()
def show(attempt: str, as_of: str | None, lake_path: str | None, as_json: bool) -> None:
    """Show one attempt (its id or the beginning of it): ending, score, checks, final files."""
    opened = lake.open(lake_path, create=False)
    (found,) = find(opened, "attempt_overview", "attempt_id", attempt, as_of=as_of)
    checks = query(
        opened,
        "select check_name, value, passed from checks where attempt_id = $id and is_latest order by check_name",
        {"id": found["attempt_id"]},
        as_of=as_of,
    )
    if as_json:
        print_json({**found, "checks": checks})
        return
    print_record(found, as_json=False)
    click.echo()
    print_rows(checks, as_json=False, empty="not graded; `clawgym verdicts run`")


@command(rollouts, "reap", examples=["clawgym rollouts reap", "clawgym rollouts reap --json"])
@lake_option()
@json_option()
def reap(lake_path: str | None, as_json: bool) -> None:
    """State attempts lost whose runner is gone, and end what it left running.

    Every run does this at its start; this is for when none follows.
    """
    from assets.rollouts import reap as reaped

    lost = reaped(lake.open(lake_path, create=False))
    if as_json:
        print_json({"lost": lost})
    else:
        click.echo(f"{lost} attempt{'' if lost == 1 else 's'} of runners that are gone")
