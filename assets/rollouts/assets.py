"""Dagster assets of the stage `rollouts`. What it does is beside this file."""

from assets.dagster_assets import build_assets
from assets.rollouts import STAGE

ASSETS = build_assets(STAGE)
