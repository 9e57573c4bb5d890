"""What Dagster shows of a table, derived from its declared schema.

Belongs here: the translation of `lake.schema` into Dagster's column schema, lineage and materialisation metadata.
Does not belong here: asset definitions, checks, or anything a stage does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import dagster as dg

from assets.dagster_plots import draw
from lake import Lake
from lake.schema import TABLES, Column, Table

MetadataMap = dict[str, dg.MetadataValue]
"""Names to values, as Dagster takes them."""

LOG_GROUP: Final = "lake"
"""Group of the tables that no single stage writes."""


def column_schema(table: Table) -> dg.TableSchema:
    """The declared columns with types, units, meaning and constraints."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=column.name,
                type=str(column.type),
                description=_description(column),
                constraints=dg.TableColumnConstraints(
                    nullable=column.nullable, unique=table.key == (column.name,), other=_other(table, column)
                ),
                tags={"role": column.role},
            )
            for column in table.columns
        ]
    )


def _description(column: Column) -> str:
    return column.doc if column.unit is None else f"{column.doc} [{column.unit}]"


def _other(table: Table, column: Column) -> list[str]:
    return ["part of the key"] if column.name in table.key and len(table.key) > 1 else []


def column_lineage(table: Table) -> dg.TableColumnLineage:
    """Which column each reference points at."""
    deps: dict[str, list[dg.TableColumnDep]] = {}
    for column in table.columns:
        if column.references is not None:
            target, _, name = column.references.partition(".")
            deps[column.name] = [dg.TableColumnDep(asset_key=dg.AssetKey(target), column_name=name)]
    return dg.TableColumnLineage(deps_by_column=deps)


def definition_metadata(name: str) -> MetadataMap:
    """What is known of a table before it was ever built."""
    table = TABLES[name]
    return {
        "dagster/column_schema": dg.MetadataValue.table_schema(column_schema(table)),
        "dagster/column_lineage": dg.MetadataValue.column_lineage(column_lineage(table)),
        "grain": dg.MetadataValue.text(table.grain),
        "key": dg.MetadataValue.text(", ".join(table.key)),
    }


def build_metadata(
    lake: Lake, name: str, *, rows: int, digest: str | None, skipped: bool, effect: Mapping[str, int]
) -> MetadataMap:
    """What one materialisation of a table did.

    Args:
        rows: rows of the table now.
        digest: content digest; None for a table of the log, which has none.
        skipped: whether the table was left as it was since its inputs did not change.
        effect: counts of the stage's effect.
    """
    table = TABLES[name]
    metadata: MetadataMap = {
        "dagster/row_count": dg.MetadataValue.int(rows),
        "dagster/uri": dg.MetadataValue.text(lake.store.path(name).as_uri()),
        "dagster/column_schema": dg.MetadataValue.table_schema(column_schema(table)),
        "dagster/column_lineage": dg.MetadataValue.column_lineage(column_lineage(table)),
        "delta_version": dg.MetadataValue.int(lake.store.version(name)),
        "skipped": dg.MetadataValue.bool(skipped),
    }
    if digest is not None:
        metadata["digest"] = dg.MetadataValue.text(digest)
    for counted, value in effect.items():
        metadata[f"effect/{counted}"] = dg.MetadataValue.int(value)
    plot = draw(lake, name)
    if plot is not None:
        metadata["plot"] = dg.MetadataValue.md(plot)
    return metadata
