"""Dagster assets of the stage `audits`. What it does is beside this file."""

from assets.audits import STAGE
from assets.dagster_assets import build_assets

ASSETS = build_assets(STAGE)
