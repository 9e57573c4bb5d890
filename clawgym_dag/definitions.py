"""The Dagster definitions: assets, checks, jobs, sensors, resources, executor.

Belongs here: putting the parts together. Does not belong here: any part.
"""

# No `from __future__ import annotations` here: Dagster reads the annotations of decorated functions as objects.

from collections.abc import Mapping
from typing import Final

import dagster as dg

from assets.dagster_assets import stage_tables
from assets.dagster_metadata import LOG_GROUP, definition_metadata
from assets.dagster_plots import draw
from clawgym_dag.jobs import JOBS, SNAPSHOTS_KEY
from clawgym_dag.resources import LakeResource, LogProgress, ProfileResource
from clawgym_dag.sensors import SENSORS
from clawgym_dag.stages import ASSETS, STAGES
from lake import Lake
from lake.environment import load_environment
from lake.schema import TABLES

LOG_TABLES: Final = tuple(name for name, table in TABLES.items() if table.stage == LOG_GROUP and name != SNAPSHOTS_KEY)
"""Tables of the log that every stage appends to: shown in the graph, materialised by none."""


@dg.asset(
    key=SNAPSHOTS_KEY,
    group_name=LOG_GROUP,
    description=TABLES[SNAPSHOTS_KEY].doc,
    deps=[name for stage in STAGES for name in stage_tables(stage)],
    kinds={"deltalake"},
    metadata=definition_metadata(SNAPSHOTS_KEY),
    required_resource_keys={"lake"},
)
def snapshots(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
    """Record what the lake knows at the end of the run."""
    lake: Lake = context.resources.lake.open()
    snapshot_id = lake.snapshot(context.run.job_name, context.run.run_id)
    count = lake.store.delta(SNAPSHOTS_KEY).count()
    return dg.MaterializeResult(
        data_version=dg.DataVersion(snapshot_id),
        metadata={
            "snapshot_id": snapshot_id,
            "dagster/row_count": count,
            "plot": dg.MetadataValue.md(draw(lake, SNAPSHOTS_KEY) or ""),
        },
    )


def build_defs(profile: str = "", overrides: Mapping[str, object] | None = None) -> dg.Definitions:
    """All definitions.

    Args:
        profile: name or path of the profile the runs use; that of `CLAWGYM_PROFILE`, else `demo`, where empty.
        overrides: resources that replace the default ones, by name: `lake`, `profile`, `progress`.
    """
    resources: dict[str, object] = {
        "lake": LakeResource(),
        "profile": ProfileResource(name=profile),
        "progress": LogProgress(),
        **(overrides or {}),
    }
    log = [
        dg.AssetSpec(
            name,
            group_name=LOG_GROUP,
            description=TABLES[name].doc,
            kinds={"deltalake"},
            metadata=definition_metadata(name),
        )
        for name in LOG_TABLES
    ]
    return dg.Definitions(
        assets=[*log, *(a for a in ASSETS if not isinstance(a, dg.AssetChecksDefinition)), snapshots],
        asset_checks=[c for c in ASSETS if isinstance(c, dg.AssetChecksDefinition)],
        jobs=JOBS,
        sensors=SENSORS,
        resources=resources,
        executor=dg.in_process_executor,
    )


load_environment()
defs = build_defs()
"""What Dagster loads."""
