"""Dagster assets of the stage `workspaces`. What it does is beside this file."""

from assets.dagster_assets import build_assets
from assets.workspaces import STAGE

ASSETS = build_assets(STAGE)
