"""The stages of the loop, in data-flow order: the one list that jobs, definitions and commands are made from."""

from __future__ import annotations

import importlib
from typing import Final

import dagster as dg

from assets.stage import Stage

NAMES: Final = (
    "personas",
    "skills",
    "tasks",
    "workspaces",
    "audits",
    "rollouts",
    "logs",
    "trajectories",
    "verdicts",
    "sft",
    "checkpoints",
    "bench",
)


def _load() -> list[tuple[Stage, list[dg.AssetsDefinition | dg.AssetChecksDefinition]]]:
    found = []
    for name in NAMES:
        try:
            package = importlib.import_module(f"assets.{name}")
            module = importlib.import_module(f"assets.{name}.assets")
        except (ImportError, AttributeError) as error:
            import sys

            print(f"DEV: stage {name} not there: {error}", file=sys.stderr)
            continue
        found.append((package.STAGE, module.ASSETS))
    return found


_FOUND = _load()
STAGES: Final[tuple[Stage, ...]] = tuple(stage for stage, _ in _FOUND)
"""Every stage."""
ASSETS: Final[list[dg.AssetsDefinition | dg.AssetChecksDefinition]] = [a for _, assets in _FOUND for a in assets]
"""The Dagster assets and checks of every stage."""
