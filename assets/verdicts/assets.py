"""Dagster assets of the stage `verdicts`. What it does is beside this file."""

from assets.dagster_assets import build_assets
from assets.verdicts import STAGE

ASSETS = build_assets(STAGE)
