"""Dagster assets of the stage `trajectories`. What it does is beside this file."""

from assets.dagster_assets import build_assets
from assets.trajectories import STAGE

ASSETS = build_assets(STAGE)
