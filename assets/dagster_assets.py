"""Turns a stage into Dagster assets: one step that runs the stage, one asset a table, one step for its checks.

Belongs here: the one builder every `assets/<stage>/assets.py` calls. Does not belong here: what a stage does, where
the lake is or which profile runs (the resources `lake`, `profile` and `progress`, see `clawgym_dag/resources.py`).
"""

# No `from __future__ import annotations` here: Dagster reads the annotations of decorated functions as objects.

import time
from collections.abc import Iterator

import dagster as dg

from assets.dagster_checks import build_checks
from assets.dagster_metadata import build_metadata, definition_metadata
from assets.stage import Context, Stage, run_stage
from lake import Lake
from lake.engine import quote
from lake.schema import TABLES


def stage_tables(stage: Stage) -> tuple[str, ...]:
    """Tables a stage is responsible for: its projection's, and those of the log it alone appends to."""
    logged = (name for name, table in TABLES.items() if table.kind == "log" and table.stage == stage.name)
    return (*logged, *(name for name in stage.projection.outputs))


def stage_deps(stage: Stage) -> tuple[str, ...]:
    """Tables a stage reads, in the order of the schema."""
    read = {*stage.projection.tables, *stage.deps, *(("raw_records",) if stage.projection.raw else ())}
    return tuple(name for name in TABLES if name in read - set(stage_tables(stage)))


def build_assets(stage: Stage) -> list[dg.AssetsDefinition | dg.AssetChecksDefinition]:
    """The assets and blocking checks of a stage."""
    tables = stage_tables(stage)

    @dg.multi_asset(
        name=stage.name,
        description=stage.doc,
        specs=[_spec(stage, name) for name in tables],
        required_resource_keys={"lake", "profile", "progress"},
    )
    def _stage(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        lake: Lake = context.resources.lake.open()
        reporter = context.resources.progress
        started = time.monotonic()
        progress = reporter.of(stage.name, context.log)
        run = run_stage(stage, Context(lake, context.resources.profile.profile, context.run.run_id, progress))
        reporter.finished(stage.name, run, time.monotonic() - started)
        for name in tables:
            digest = run.built.digests.get(name)
            rows = run.built.rows[name] if name in run.built.rows else count_rows(lake, name)
            version = digest or f"delta-{lake.store.version(name)}"
            yield dg.MaterializeResult(
                asset_key=name,
                data_version=dg.DataVersion(version),
                metadata=build_metadata(
                    lake, name, rows=rows, digest=digest, skipped=run.built.skipped, effect=run.effect
                ),
            )

    return [_stage, build_checks(stage, tables)]


def _spec(stage: Stage, name: str) -> dg.AssetSpec:
    table = TABLES[name]
    return dg.AssetSpec(
        key=name,
        group_name=stage.name,
        description=f"{table.doc}\n\nGrain: {table.grain}. Key: {', '.join(table.key)}.",
        deps=list(stage_deps(stage)),
        kinds={"deltalake", "python"},
        code_version=str(stage.projection.version),
        metadata=definition_metadata(name),
    )


def count_rows(lake: Lake, name: str) -> int:
    """Rows of a table, by the engine (a log is never read whole to be counted)."""
    query = f"select count(*) from {quote(name)}"  # noqa: S608 - a quoted name of the schema
    (rows,) = lake.sql(query).fetchone() or (0,)
    return int(rows)
