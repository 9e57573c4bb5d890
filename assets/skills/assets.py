"""Dagster assets of the stage `skills`. What it does is beside this file."""

from assets.dagster_assets import build_assets
from assets.skills import STAGE

ASSETS = build_assets(STAGE)
