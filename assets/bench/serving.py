"""Serving a checkpoint to the agent for the time of its bench run.

Belongs here: how a checkpoint is served on the bench. Does not belong here: the server (`training/server`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from assets import rollouts
from assets.checkpoints import checkpoint_folder
from assets.stage import Context
from lake.ids import Json

MOST_TOKENS: Final = 1024
"""Longest answer of one turn: an untaught model never ends one by itself."""


def serving_config(repeats: int) -> dict[str, Json]:
    """What is added to each request: greedy for one repeat; for several, sampled, each repeat with its own seed."""
    return {"temperature": 0.0 if repeats == 1 else 0.7, "max_completion_tokens": MOST_TOKENS}


@contextmanager
def served(context: Context, policy: str) -> Iterator[None]:
    """Serve `checkpoint:<id>` on loopback and tell the rollouts where."""
    from training.server import ServerConfig, serving
    from training.server.app import Limits

    checkpoint_id = policy.partition(":")[2]
    config = serving_config(context.profile.bench.repeats)
    limits = Limits(concurrency=context.profile.rollouts.concurrency, most_tokens=int(config["max_completion_tokens"]))
    context.progress(f"serving checkpoint {checkpoint_id}")
    folder = checkpoint_folder(context.lake, checkpoint_id)
    added = {"temperature": config["temperature"]}
    with (
        serving(folder, ServerConfig(names=(checkpoint_id,), limits=limits)) as server,
        rollouts.served_at(policy, server.base_url, added, api_key=server.token),
    ):
        yield
