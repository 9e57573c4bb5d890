"""Dagster assets of the stage `logs`. What it does is beside this file."""

from assets.dagster_assets import build_assets
from assets.logs import STAGE

ASSETS = build_assets(STAGE)
