"""`clawgym sft`: build, look at and export the training set.

Belongs here: the commands. Does not belong here: the filter (`assets/sft`).
"""

from __future__ import annotations

from pathlib import Path

import click

import lake
from clawgym_dag.cli.framework import as_of_option, command, json_option, lake_option, profile_options
from clawgym_dag.cli.output import print_json, print_rows, write_lines
from clawgym_dag.cli.read import query
from clawgym_dag.cli.running import report, run_stages


@click.group("sft")
def sft() -> None:
    """Build, look at and export the training set."""


@command(sft, "build", examples=["clawgym sft build", "clawgym sft build --json"], codes=(7,))
@profile_options()
@lake_option()
@json_option()
def build(profile: str, overrides: tuple[str, ...], lake_path: str | None, as_json: bool) -> None:
    """Decide on every trajectory: kept, or the first rule that dropped it."""
    _, progress = run_stages(lake_path, "train_sft", profile=profile, overrides=overrides, stages=("sft",))
    report(progress, as_json)


@command(sft, "decisions", examples=["clawgym sft decisions", "clawgym sft decisions --json"])
@as_of_option()
@lake_option()
@json_option()
def decisions(as_of: str | None, lake_path: str | None, as_json: bool) -> None:
    """Count trajectories by the filter's decision and reason."""
    rows = query(
        lake.open(lake_path, create=False),
        "select decision, reason, count(*) as trajectories, min(score) as lowest_score, max(score) as highest_score"
        " from sft_decisions"
        " group by decision, reason order by decision desc, trajectories desc, reason",
        as_of=as_of,
    )
    print_rows(rows, as_json, empty="nothing decided yet; `clawgym sft build` decides on every trajectory")


@command(
    sft,
    "export",
    examples=["clawgym sft export --to train.jsonl", "clawgym sft export --to validation.jsonl --split validation"],
)
@click.option("--to", "target", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file.")
@click.option("--split", type=click.Choice(["train", "validation"]), default="train", show_default=True)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@as_of_option()
@lake_option()
@json_option()
def export(target: Path, split: str, force: bool, as_of: str | None, lake_path: str | None, as_json: bool) -> None:
    """Write the training set as JSON Lines: messages, tools (TRL's conversational form) and where each row came from.

    The same lake gives the same bytes. Secrets are masked.
    """
    rows = query(
        lake.open(lake_path, create=False),
        'select format(\'{{"example_id":{},"task_id":{},"score":{},"messages":{},"tools":{}}}\', to_json(example_id),'
        " to_json(task_id), to_json(score), messages, tools) as line from sft_examples where split = $split"
        " order by example_id",
        {"split": split},
        as_of=as_of,
    )
    written = write_lines(target, (row["line"] for row in rows), force=force)
    if as_json:
        print_json({"path": str(target), "split": split, "rows": written})
    else:
        click.echo(f"{written} {split} rows in {target}")
