"""`clawgym trajectories`: list, show and export what the cleaned logs say happened.

Belongs here: the commands. Does not belong here: cleaning and export formats (`assets/trajectories`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

import lake
import sql
from clawgym_dag.cli.framework import as_of_option, command, json_option, lake_option, limit_option
from clawgym_dag.cli.output import print_json, print_record, print_rows
from clawgym_dag.cli.read import Row, find, query
from lake.errors import UsageError


@click.group("trajectories")
def trajectories() -> None:
    """List and show cleaned trajectories."""


@command(
    trajectories,
    "list",
    examples=[
        "clawgym trajectories list",
        "clawgym trajectories list --policy weak --limit 5",
        "clawgym trajectories list --json",
    ],
)
@click.option("--policy", help="Only policies that contain this.")
@click.option("--task", help="Only tasks whose id contains this.")
@click.option("--class", "class_", help="Only this class: normal, aborted, failed, truncated, …")
@limit_option()
@as_of_option()
@lake_option()
@json_option()
def list_(
    policy: str | None,
    task: str | None,
    class_: str | None,
    limit: int,
    as_of: str | None,
    lake_path: str | None,
    as_json: bool,
) -> None:
    """List trajectories with their size, score and the filter's decision."""
    opened = lake.open(lake_path, create=False)
    found = query(
        opened,
        "select trajectory_id, task_id, model, policy, class, turns, tool_calls, tool_errors, started_at, text_tokens,"
        " score_code, sft_decision, sft_reason from trajectory_overview"
        " where ($policy is null or contains(policy, $policy))"
        " and ($task is null or contains(task_id, $task)) and ($class is null or class = $class)"
        " order by task_id, policy, started_at desc, trajectory_id",
        {"policy": policy, "task": task, "class": class_},
        as_of=as_of,
        limit=limit,
    )
    ids = [row["trajectory_id"] for row in found]
    labels = {
        row["trajectory_id"]: row["label"]
        for row in query(opened, sql.load("trajectories/labels"), {"ids": ids}, as_of=as_of)
    }
    rows = [{"trajectory_id": row["trajectory_id"], "label": labels[row["trajectory_id"]], **row} for row in found]
    if not as_json:
        told = [name for name in rows[0] if name != "task_id" and tells(name, rows[:limit])] if rows else []
        rows = [{name: row[name] for name in told} for row in rows]
    print_rows(
        rows,
        as_json,
        empty="no such trajectory; `clawgym lake ingest` or `clawgym rollouts run` brings some",
        limit=limit,
    )


def tells(column: str, rows: list[Row]) -> bool:
    """Whether a column of the table says anything of any row."""
    nothing = (None, "external log") if column == "policy" else (None,)
    return any(row[column] not in nothing for row in rows)


@command(
    trajectories,
    "show",
    examples=["clawgym trajectories show TRAJECTORY", "clawgym trajectories show TRAJECTORY --full"],
)
@click.argument("trajectory")
@click.option("--full", is_flag=True, help="Whole texts instead of their beginnings.")
@as_of_option()
@lake_option()
@json_option()
def show(trajectory: str, full: bool, as_of: str | None, lake_path: str | None, as_json: bool) -> None:
    """Show one trajectory (its id or the beginning of it) step by step. Secrets are masked."""
    opened = lake.open(lake_path, create=False)
    (found,) = find(opened, "trajectory_overview", "trajectory_id", trajectory, as_of=as_of)
    ids = {"id": found["trajectory_id"]}
    steps = query(
        opened,
        "select step, role, text, thinking, is_error from steps where trajectory_id = $id order by step",
        ids,
        as_of=as_of,
    )
    calls = query(
        opened,
        "select step, tool, arguments, phase, is_error from tool_calls where trajectory_id = $id"
        " order by step, call_index",
        ids,
        as_of=as_of,
    )
    if as_json:
        print_json({**found, "steps": steps, "tool_calls": calls})
        return
    print_record(found, as_json=False)
    for step in steps:
        mark = " (error)" if step["is_error"] else ""
        click.echo(f"\n{step['step']:>3} {step['role']}{mark}")
        for line in step_lines(step, [call for call in calls if call["step"] == step["step"]], full):
            click.echo(f"    {line}")


def step_lines(step: Row, calls: list[Row], full: bool, keep: int = 6) -> list[str]:
    """What one step says and does; the first lines of it unless `full`."""
    lines = (step["text"] or "").strip().splitlines()
    if not full and len(lines) > keep:
        lines = [*lines[:keep], f"… {len(lines) - keep} more lines (--full)"]
    if not full:
        lines = [line if len(line) <= 160 else line[:159] + "…" for line in lines]
    for call in calls:
        arguments = " ".join(str(call["arguments"]).split())
        lines.append(f"→ {call['tool']} {arguments if full else arguments[:160]}")
    return lines


@command(
    trajectories,
    "export",
    examples=[
        "clawgym trajectories export --to trajectories.jsonl",
        "clawgym trajectories export --to weak.jsonl --policy weak --arguments object",
        "clawgym trajectories export --to atif --format atif --counted",
        "clawgym trajectories export --to dataset --format hf --class normal --min-score 0.5",
    ],
)
@click.option("--to", "target", type=click.Path(path_type=Path), required=True, help="The file or folder to write.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["trl", "atif", "sharegpt", "hf", "scout"]),
    default="trl",
    show_default=True,
    help="trl and sharegpt: JSON lines. atif: JSON lines for a name in .jsonl, else a folder. hf, scout: a folder.",
)
@click.option("--policy", help="Only policies that contain this.")
@click.option("--task", help="Only tasks whose id contains this.")
@click.option("--class", "class_", help="Only this class: normal, aborted, failed, truncated, …")
@click.option("--counted", is_flag=True, help="Only counted attempts: one of each rollout, no logs of others.")
@click.option("--min-score", type=click.FloatRange(0, 1), help="Only with at least this score of the code verifier.")
@click.option(
    "--arguments",
    type=click.Choice(["string", "object"]),
    help="trl: tool-call arguments as JSON text (the default) or as objects.",
)
@click.option(
    "--atif-version", type=click.Choice(["1.7", "1.8"]), help="atif: the version stated; 1.7 where not given."
)
@click.option("--force", is_flag=True, help="Replace an earlier export.")
@as_of_option()
@lake_option()
@json_option()
def export(
    target: Path,
    format_: str,
    policy: str | None,
    task: str | None,
    class_: str | None,
    counted: bool,
    min_score: float | None,
    arguments: Literal["string", "object"] | None,
    atif_version: str | None,
    force: bool,
    as_of: str | None,
    lake_path: str | None,
    as_json: bool,
) -> None:
    """Write trajectories in a format of others, and say what that format cannot hold.

    The same lake gives the same bytes. Secrets are masked. The report names the snapshot and lies in the folder, or
    beside the file.
    """
    from assets.trajectories.exports import Filters
    from assets.trajectories.exports import export as write_export

    if arguments is not None and format_ != "trl":
        raise UsageError(f"--arguments is for --format trl; {format_} has one form of them")
    if atif_version is not None and format_ != "atif":
        raise UsageError(f"--atif-version is for --format atif, not {format_}")
    report = write_export(
        lake.open(lake_path, create=False),
        target,
        format=format_,
        filters=Filters(policy, task, class_, counted, min_score),
        arguments=arguments or "string",
        atif_version=atif_version or "1.7",
        as_of=as_of,
        force=force,
    )
    if as_json:
        print_json({"path": str(target), **report})
        return
    click.echo(f"{report['exported']} of {report['trajectories']} trajectories in {target}")
    print_record({f"not held: {what}": count for what, count in report["not_held"].items()}, as_json=False)
