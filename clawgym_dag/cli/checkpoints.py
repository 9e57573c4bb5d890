"""`clawgym checkpoints`: train and list models.

Belongs here: the commands. Does not belong here: training (`training`, `assets/checkpoints`).
"""

from __future__ import annotations

import click

import lake
from clawgym_dag.cli.framework import as_of_option, command, json_option, lake_option, profile_options
from clawgym_dag.cli.output import print_rows
from clawgym_dag.cli.read import query
from clawgym_dag.cli.running import report, run_stages


@click.group("checkpoints")
def checkpoints() -> None:
    """Train and list models."""


@command(
    checkpoints,
    "train",
    examples=["clawgym checkpoints train", "clawgym checkpoints train --set checkpoints.steps=40"],
    codes=(7,),
)
@profile_options()
@lake_option()
@json_option()
def train(profile: str, overrides: tuple[str, ...], lake_path: str | None, as_json: bool) -> None:
    """Fine-tune on the training set. The same examples and settings are the same checkpoint and not trained again."""
    _, progress = run_stages(lake_path, "train_sft", profile=profile, overrides=overrides)
    report(progress, as_json)


@command(checkpoints, "list", examples=["clawgym checkpoints list", "clawgym checkpoints list --json"])
@as_of_option()
@lake_option()
@json_option()
def list_(as_of: str | None, lake_path: str | None, as_json: bool) -> None:
    """List checkpoints with what they were trained on and how the loss went."""
    rows = query(
        lake.open(lake_path, create=False),
        "select checkpoint_id, method, parent_id, architecture, parameters, examples, steps, loss_first, loss_last,"
        " path from checkpoints order by created_at, checkpoint_id",
        as_of=as_of,
    )
    print_rows(rows, as_json, empty="no checkpoint yet; `clawgym checkpoints train` makes one")
