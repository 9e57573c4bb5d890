"""Dagster assets and checks of the stage `sft`."""

from assets.dagster_assets import build_assets
from assets.sft import STAGE

ASSETS = build_assets(STAGE)
