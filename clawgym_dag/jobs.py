"""The jobs: named selections of the asset graph, and the rebuild of every table from the log.

Belongs here: jobs by name. Does not belong here: schedules of single stages, or what a stage does.
"""

# No `from __future__ import annotations` here: Dagster reads the annotations of decorated functions as objects.

from collections.abc import Sequence
from typing import Any, Final

import dagster as dg

from assets.dagster_assets import stage_tables
from clawgym_dag import partitions
from clawgym_dag.stages import STAGES
from lake import Lake
from lake.replay import in_order

SNAPSHOTS_KEY: Final = "snapshots"

STAGES_OF_JOB: Final[dict[str, tuple[str, ...]]] = {
    "demo": tuple(stage.name for stage in STAGES),
    "synthesise_tasks": ("personas", "skills", "tasks", "workspaces", "audits"),
    "collect_rollouts": ("rollouts", "logs", "trajectories", "verdicts"),
    "collect_batches": ("rollouts", "logs", "trajectories", "verdicts"),
    "ingest_logs": ("logs", "trajectories"),
    "train_sft": ("sft", "checkpoints"),
    "run_bench": ("bench",),
}
"""Job name to the stages it runs; every job ends with a snapshot of the lake."""

_DOCS: Final = {
    "demo": "The whole loop, from personas to bench scores.",
    "synthesise_tasks": "Propose tasks, prepare their workspaces and audit their verifiers.",
    "collect_rollouts": "Run the agent on accepted training tasks, clean its logs and grade its workspaces.",
    "collect_batches": "As collect_rollouts, a batch a day: the partition is the batch's name and its seed.",
    "ingest_logs": "Take in logs of others (profile section `logs`) and clean them.",
    "train_sft": "Filter trajectories and fine-tune on what is kept.",
    "run_bench": "Score the profile's policies on the held-out suite.",
}


@dg.op(required_resource_keys={"lake"})
def rebuild_tables(context: dg.OpExecutionContext) -> None:
    """Rebuild every projection from the log; effects are forbidden while it runs."""
    lake: Lake = context.resources.lake.open()
    for projection in in_order([stage.projection for stage in STAGES]):
        before = {name: lake.build_record(name).get("digest") for name in projection.outputs}
        built = lake.build(projection, force=True)
        for name, digest in built.digests.items():
            state = "as before" if digest == before[name] else "changed"
            context.log.info(f"{name}: {built.rows[name]} rows, {state}")
            context.log_event(
                dg.AssetMaterialization(
                    asset_key=name,
                    metadata={"dagster/row_count": built.rows[name], "digest": digest, "rebuilt": True},
                    tags={"dagster/data_version": digest},
                )
            )


@dg.job(description="Rebuild every table from the log alone. Runs projections, never an effect.")
def rebuild_lake() -> None:
    """One step: the projections in data-flow order."""
    rebuild_tables()


def asset_job(name: str) -> Any:  # dagster does not export the type of an unresolved job
    """The job `name` of `STAGES_OF_JOB`."""
    tables = [table for stage in STAGES if stage.name in STAGES_OF_JOB[name] for table in stage_tables(stage)]
    return dg.define_asset_job(
        name,
        selection=dg.AssetSelection.assets(*tables, SNAPSHOTS_KEY),
        description=_DOCS[name],
        config=partitions.daily if name == partitions.JOB else None,
    )


JOBS: Final[Sequence[Any]] = [*(asset_job(name) for name in STAGES_OF_JOB), rebuild_lake]
"""Every job."""
