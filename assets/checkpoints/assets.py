"""Dagster assets of the stage `checkpoints`. What it does is beside this file."""

from assets.checkpoints import STAGE
from assets.dagster_assets import build_assets

ASSETS = build_assets(STAGE)
