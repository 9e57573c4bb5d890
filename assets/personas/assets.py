"""Dagster assets of the stage `personas`. What it does is beside this file."""

from assets.dagster_assets import build_assets
from assets.personas import STAGE

ASSETS = build_assets(STAGE)
