"""The stages of the loop, in data-flow order: the one list that jobs, definitions and commands are made from."""

from __future__ import annotations

from typing import Final

import dagster as dg

from assets.audits import STAGE as AUDITS
from assets.audits.assets import ASSETS as AUDITS_ASSETS
from assets.bench import STAGE as BENCH
from assets.bench.assets import ASSETS as BENCH_ASSETS
from assets.checkpoints import STAGE as CHECKPOINTS
from assets.checkpoints.assets import ASSETS as CHECKPOINTS_ASSETS
from assets.logs import STAGE as LOGS
from assets.logs.assets import ASSETS as LOGS_ASSETS
from assets.personas import STAGE as PERSONAS
from assets.personas.assets import ASSETS as PERSONAS_ASSETS
from assets.rollouts import STAGE as ROLLOUTS
from assets.rollouts.assets import ASSETS as ROLLOUTS_ASSETS
from assets.sft import STAGE as SFT
from assets.sft.assets import ASSETS as SFT_ASSETS
from assets.skills import STAGE as SKILLS
from assets.skills.assets import ASSETS as SKILLS_ASSETS
from assets.stage import Stage
from assets.tasks import STAGE as TASKS
from assets.tasks.assets import ASSETS as TASKS_ASSETS
from assets.trajectories import STAGE as TRAJECTORIES
from assets.trajectories.assets import ASSETS as TRAJECTORIES_ASSETS
from assets.verdicts import STAGE as VERDICTS
from assets.verdicts.assets import ASSETS as VERDICTS_ASSETS
from assets.workspaces import STAGE as WORKSPACES
from assets.workspaces.assets import ASSETS as WORKSPACES_ASSETS

STAGES: Final[tuple[Stage, ...]] = (
    PERSONAS,
    SKILLS,
    TASKS,
    WORKSPACES,
    AUDITS,
    ROLLOUTS,
    LOGS,
    TRAJECTORIES,
    VERDICTS,
    SFT,
    CHECKPOINTS,
    BENCH,
)
"""Every stage."""

ASSETS: Final[list[dg.AssetsDefinition | dg.AssetChecksDefinition]] = [
    *PERSONAS_ASSETS,
    *SKILLS_ASSETS,
    *TASKS_ASSETS,
    *WORKSPACES_ASSETS,
    *AUDITS_ASSETS,
    *ROLLOUTS_ASSETS,
    *LOGS_ASSETS,
    *TRAJECTORIES_ASSETS,
    *VERDICTS_ASSETS,
    *SFT_ASSETS,
    *CHECKPOINTS_ASSETS,
    *BENCH_ASSETS,
]
"""The Dagster assets and checks of every stage."""
