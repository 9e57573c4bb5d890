"""Blocking asset checks: those that follow from the declared schema, and the stage's own.

Belongs here: turning a schema or a `StageCheck` into Dagster checks. Does not belong here: what a stage checks.
"""

# No `from __future__ import annotations` here: Dagster reads the annotations of decorated functions as objects.

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import dagster as dg

from assets.settled import SettledLake, checked, settled
from assets.stage import CheckOutcome, Stage
from lake import Lake, Projection
from lake.engine import quote
from lake.errors import ClawGymError
from lake.schema import TABLES

KEY_UNIQUE: Final = "key_unique"
NO_NULLS: Final = "no_nulls"
ROWS_AS_BUILT: Final = "rows_as_built"


class TableCheck(NamedTuple):
    """A check of one table, ready to run."""

    name: str
    table: str
    doc: str
    run: Callable[[Lake], CheckOutcome]


def key_unique(lake: Lake, name: str) -> CheckOutcome:
    """Whether the stored rows have as many keys as rows."""
    key = ", ".join(quote(column) for column in TABLES[name].key)
    query = f"select count(*), count(distinct ({key})) from {quote(name)}"  # noqa: S608 - quoted names of the schema
    rows, keys = lake.sql(query).fetchone() or (0, 0)
    return CheckOutcome(rows == keys, f"{rows} rows, {keys} keys", {"rows": rows, "keys": keys})


def no_nulls(lake: Lake, name: str) -> CheckOutcome:
    """Whether columns declared not null hold none."""
    columns = [column.name for column in TABLES[name].columns if not column.nullable]
    counts = ", ".join(f"count(*) - count({quote(column)})" for column in columns)
    query = f"select {counts} from {quote(name)}"  # noqa: S608 - quoted names of the schema
    found = lake.sql(query).fetchone() or ()
    nulls = {column: int(count) for column, count in zip(columns, found, strict=True) if count}
    detail = ", ".join(f"{column}: {count}" for column, count in nulls.items()) or f"none in {len(columns)} columns"
    return CheckOutcome(not nulls, f"nulls: {detail}", nulls)


def rows_as_built(lake: Lake, name: str) -> CheckOutcome:
    """Whether the table holds the rows its last build recorded."""
    query = f"select count(*) from {quote(name)}"  # noqa: S608 - a quoted name of the schema
    (rows,) = lake.sql(query).fetchone() or (0,)
    built = int(lake.build_record(name).get("rows", -1))
    return CheckOutcome(rows == built, f"{rows} rows stored, {built} recorded by the build", {"rows": rows})


def table_checks(stage: Stage, tables: tuple[str, ...]) -> list[TableCheck]:
    """Every check of a stage, those of the schema first."""
    found: list[TableCheck] = []
    for name in tables:
        key = ", ".join(TABLES[name].key)
        found.append(TableCheck(KEY_UNIQUE, name, f"No two rows share ({key}).", _bound(key_unique, name)))
        found.append(TableCheck(NO_NULLS, name, "Columns declared not null hold no null.", _bound(no_nulls, name)))
        if TABLES[name].kind == "projection":
            doc = "The table holds the rows its build recorded."
            found.append(TableCheck(ROWS_AS_BUILT, name, doc, _bound(rows_as_built, name)))
    found.extend(TableCheck(check.name, check.table, check.doc, check.run) for check in stage.checks)
    return found


def _bound(check: Callable[[Lake, str], CheckOutcome], name: str) -> Callable[[Lake], CheckOutcome]:
    return lambda lake: check(lake, name)


def outcome_of(check: TableCheck, lake: Lake, projection: Projection, state: SettledLake | None = None) -> CheckOutcome:
    """Run a check where no other job can disturb it; one that cannot run did not pass."""
    try:
        return checked(lake, projection, check.run, state=state)
    except ClawGymError as error:
        return CheckOutcome(False, str(error))


def build_checks(stage: Stage, tables: tuple[str, ...]) -> dg.AssetChecksDefinition:
    """One step per stage that runs all its checks; downstream stages wait for it and stop when one fails."""
    checks = table_checks(stage, tables)
    specs = [dg.AssetCheckSpec(c.name, asset=c.table, description=c.doc, blocking=True) for c in checks]

    @dg.multi_asset_check(name=f"{stage.name}_checks", specs=specs, required_resource_keys={"lake", "progress"})
    def _checks(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        lake: Lake = context.resources.lake.open()
        state = settled(lake, stage.projection)
        for check in checks:
            outcome = outcome_of(check, lake, stage.projection, state)
            if not outcome.passed:
                context.resources.progress.check_failed(check.table, check.name, outcome.detail)
            yield dg.AssetCheckResult(
                passed=outcome.passed,
                asset_key=check.table,
                check_name=check.name,
                description=outcome.detail,
                metadata={"detail": outcome.detail, **outcome.metadata},
            )

    return _checks
