"""Runs a job in this process, as the command line does: same definitions, same instance as the UI shows.

Belongs here: execution and the translation of Dagster's failures into ours. Does not belong here: what is printed.
"""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg
from dagster._core.errors import DagsterAssetCheckFailedError, DagsterExecutionInterruptedError

from assets.dagster_assets import stage_tables
from clawgym_dag.cli.progress import TerminalProgress
from clawgym_dag.definitions import build_defs
from clawgym_dag.instance import open_instance
from clawgym_dag.jobs import SNAPSHOTS_KEY
from clawgym_dag.profiles import load_profile
from clawgym_dag.resources import LakeResource, ProfileResource
from clawgym_dag.stages import STAGES
from lake import Lake
from lake.errors import StageError

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def run_job(
    lake: Lake,
    job: str,
    progress: TerminalProgress,
    *,
    profile: str = "demo",
    overrides: str = "",
    stages: Sequence[str] = (),
) -> None:
    """Run a job on a lake to its end.

    Args:
        stages: only these stages of the job, and the snapshot; all where empty.
        overrides: TOML text over the profile.

    Raises:
        ClawGymError: what a stage raised; `StageError` when a blocking check failed.
        KeyboardInterrupt: it was interrupted.
    """
    load_profile(profile, overrides)
    resources = {
        "lake": LakeResource(root=str(lake.root)),
        "profile": ProfileResource(name=profile, overrides=overrides),
        "progress": progress,
    }
    definition = build_defs(overrides=resources).resolve_job_def(job)
    with open_instance(lake) as instance:
        try:
            definition.execute_in_process(instance=instance, run_config=_QUIET, asset_selection=selection(stages))
        except DagsterExecutionInterruptedError as error:
            raise KeyboardInterrupt from error
        except DagsterAssetCheckFailedError as error:
            failed = "; ".join(progress.failed_checks) or str(error)
            raise StageError(f"a blocking check failed, later stages did not run: {failed}") from error


def selection(stages: Sequence[str]) -> list[dg.AssetKey] | None:
    """The assets of some stages and the snapshot; None, which is all, for none."""
    if not stages:
        return None
    tables = [table for stage in STAGES if stage.name in stages for table in stage_tables(stage)]
    return [dg.AssetKey(name) for name in (*tables, SNAPSHOTS_KEY)]
