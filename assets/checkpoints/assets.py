"""Dagster assets and checks of the stage `checkpoints`."""

from assets.checkpoints import STAGE
from assets.dagster_assets import build_assets

ASSETS = build_assets(STAGE)
