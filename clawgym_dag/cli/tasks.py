"""`clawgym tasks`: propose, audit, list and show tasks.

Belongs here: the commands. Does not belong here: how a task is made (`assets/tasks`) or judged (`assets/audits`).
"""

from __future__ import annotations

import json

import click

import lake
from clawgym_dag.cli.framework import as_of_option, command, json_option, lake_option, limit_option, profile_options
from clawgym_dag.cli.output import print_json, print_record, print_rows, print_table
from clawgym_dag.cli.read import find, query
from clawgym_dag.cli.running import report, run_stages


@click.group("tasks")
def tasks() -> None:
    """Propose, audit, list and show tasks."""


@command(
    tasks,
    "generate",
    examples=["clawgym tasks generate", "clawgym tasks generate --set tasks.seeds_per_family=8"],
    codes=(3, 7),
)
@profile_options()
@lake_option()
@json_option()
def generate(profile: str, overrides: tuple[str, ...], lake_path: str | None, as_json: bool) -> None:
    """Propose tasks from the procedural families and prepare their workspaces. Known ones are left alone."""
    stages = ("personas", "skills", "tasks", "workspaces")
    _, progress = run_stages(lake_path, "synthesise_tasks", profile=profile, overrides=overrides, stages=stages)
    report(progress, as_json)


@command(tasks, "audit", examples=["clawgym tasks audit", "clawgym tasks audit --json"], codes=(3, 7))
@profile_options()
@lake_option()
@json_option()
def audit(profile: str, overrides: tuple[str, ...], lake_path: str | None, as_json: bool) -> None:
    """Probe the verifier of each proposed task that was not audited yet, and accept or reject it."""
    _, progress = run_stages(
        lake_path, "synthesise_tasks", profile=profile, overrides=overrides, stages=("workspaces", "audits")
    )
    report(progress, as_json)


@command(
    tasks,
    "list",
    examples=["clawgym tasks list", "clawgym tasks list --status rejected", "clawgym tasks list --split train --json"],
)
@click.option("--status", type=click.Choice(["accepted", "rejected", "not audited"]), help="Only these.")
@click.option("--split", help="Only this split: train, validation, test, bench:<suite>.")
@click.option("--family", help="Only this family.")
@limit_option()
@as_of_option()
@lake_option()
@json_option()
def list_(
    status: str | None,
    split: str | None,
    family: str | None,
    limit: int,
    as_of: str | None,
    lake_path: str | None,
    as_json: bool,
) -> None:
    """List tasks with their decision and how attempts at them came out."""
    rows = query(
        lake.open(lake_path, create=False),
        "select task_id, family, difficulty, status, split, input_count as inputs, counted as attempts, scripted_mean,"
        " model_mean from task_overview where ($status is null or status = $status)"
        " and ($split is null or split = $split) and ($family is null or family = $family)"
        " order by task_id, task_version",
        {"status": status, "split": split, "family": family},
        as_of=as_of,
        limit=limit,
    )
    narrowed = status or split or family
    nothing = (
        "no task is so; see `clawgym tasks list`" if narrowed else "no task yet; `clawgym tasks generate` proposes some"
    )
    print_rows(rows, as_json, empty=nothing, limit=limit)


@command(tasks, "show", examples=["clawgym tasks show TASK", "clawgym tasks show TASK --json"])
@click.argument("task")
@as_of_option()
@lake_option()
@json_option()
def show(task: str, as_of: str | None, lake_path: str | None, as_json: bool) -> None:
    """Show one task (its id or the beginning of it): instruction, inputs, decision, audit probes."""
    opened = lake.open(lake_path, create=False)
    found = find(opened, "task_overview", "task_id", task, as_of=as_of)[-1]
    version = {"id": found["task_id"], "version": found["task_version"]}
    probes = query(
        opened,
        "select probe, status, score_code, passed, bound, detail from audits"
        " where task_id = $id and task_version = $version order by probe",
        version,
        as_of=as_of,
    )
    (manifest,) = query(
        opened,
        "select input_manifest from tasks where task_id = $id and task_version = $version",
        version,
        as_of=as_of,
    )
    inputs = json.loads(manifest["input_manifest"])
    if as_json:
        print_json({**found, "inputs": inputs, "audits": probes})
        return
    instruction = found.pop("instruction")
    print_record(found, as_json=False)
    click.echo(f"\n{instruction}\n")
    print_table(["input", "bytes"], [[file["path"], file["size"]] for file in inputs])
    click.echo()
    print_rows(probes, as_json=False, empty="not audited; `clawgym tasks audit`")
