"""Dagster assets of the stage `sft`. What it does is beside this file."""

from assets.dagster_assets import build_assets
from assets.sft import STAGE

ASSETS = build_assets(STAGE)
