"""Dagster assets of the stage `tasks`. What it does is beside this file."""

from assets.dagster_assets import build_assets
from assets.tasks import STAGE

ASSETS = build_assets(STAGE)
