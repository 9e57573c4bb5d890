"""`clawgym checkpoints`: train, list and serve models.

Belongs here: the commands. Does not belong here: training (`training`, `assets/checkpoints`).
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

import lake
from clawgym_dag.cli.framework import as_of_option, command, json_option, lake_option, profile_options
from clawgym_dag.cli.output import print_json, print_rows
from clawgym_dag.cli.read import query
from clawgym_dag.cli.running import report, run_stages
from lake.errors import UsageError

if TYPE_CHECKING:
    from training.server import Served


@click.group("checkpoints")
def checkpoints() -> None:
    """Train, list and serve models."""


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


@command(
    checkpoints,
    "serve",
    examples=[
        "clawgym checkpoints serve",
        "clawgym checkpoints serve latest --port 8000",
        "clawgym checkpoints serve 9f2c --host 0.0.0.0 --token-env POLICY_TOKEN",
    ],
    codes=(3, 7),
)
@click.argument("checkpoint", default="latest")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address; beyond loopback needs --token-env.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Port; 0 is any free one.")
@click.option("--token-env", metavar="NAME", help="Environment variable that holds the token clients must bring.")
@lake_option()
@json_option()
def serve(checkpoint: str, host: str, port: int, token_env: str | None, lake_path: str | None, as_json: bool) -> None:
    """Serve CHECKPOINT (an id, a beginning of one, or `latest`) to any OpenAI client until Ctrl-C.

    Prints the address, the token unless --token-env names one (which is never printed), and the model's id. Each
    request needs the token. Beyond loopback the server listens only with a token of your own.
    """
    from assets.checkpoints import checkpoint_folder, find_checkpoint
    from training.server import ServerConfig, serve_forever

    token = ""
    if token_env is not None:
        token = os.environ.get(token_env, "")
        if not token:
            raise UsageError(f"the environment variable {token_env} is empty or not set; put the token in it")
    opened = lake.open(lake_path, create=False)
    checkpoint_id = str(find_checkpoint(opened, checkpoint)["checkpoint_id"])

    def announce(served: Served) -> None:
        facts = {"OPENAI_BASE_URL": served.base_url, "OPENAI_API_KEY": served.token, "model": checkpoint_id}
        if token_env is not None:
            del facts["OPENAI_API_KEY"]
        if as_json:
            print_json(facts)
        else:
            click.echo("\n".join(f"{name}={value}" for name, value in facts.items()))
        sys.stdout.flush()

    config = ServerConfig(names=(checkpoint_id,), host=host, port=port, token=token)
    serve_forever(checkpoint_folder(opened, checkpoint_id), config, announce)
