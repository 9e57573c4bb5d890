"""Dagster assets of the stage `bench`. What it does is beside this file."""

from assets.bench import STAGE
from assets.dagster_assets import build_assets

ASSETS = build_assets(STAGE)
