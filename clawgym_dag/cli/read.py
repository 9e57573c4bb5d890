"""Reading for commands: rows as dicts, and records found by the beginning of their id.

Belongs here: what several commands share when they read. Does not belong here: output, SQL over five lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lake import Lake
from lake.engine import quote
from lake.errors import UsageError

Row = dict[str, Any]
"""Column name to value."""


def query(
    lake: Lake,
    text: str,
    params: Mapping[str, Any] | None = None,
    *,
    as_of: str | None = None,
    limit: int | None = None,
) -> list[Row]:
    """Rows of a query; with a limit one more than that where there are more, for `print_rows` to say so."""
    if limit is not None:
        text, params = f"{text} limit $limit", {**(params or {}), "limit": limit + 1}
    relation = lake.sql(text, params, as_of=as_of)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def find(lake: Lake, table: str, column: str, wanted: str, *, as_of: str | None = None) -> list[Row]:
    """The rows of a table or view whose `column` is `wanted`, else of the one value that begins with it.

    Raises:
        UsageError: none begins so, or several do.
    """
    text = f"select * from {quote(table)} where {quote(column)} = $wanted"  # noqa: S608 - names in this code, quoted
    if rows := query(lake, text, {"wanted": wanted}, as_of=as_of):
        return rows
    text = f"select * from {quote(table)} where starts_with({quote(column)}, $wanted) order by {quote(column)}"  # noqa: S608 - as above
    rows = query(lake, text, {"wanted": wanted}, as_of=as_of)
    ids = list(dict.fromkeys(str(row[column]) for row in rows))
    if not ids:
        noun = column.removesuffix("_id")
        raise UsageError(f"no {noun} {wanted!r}; see `clawgym {table_noun(table)} list`")
    if len(ids) > 1:
        more = "" if len(ids) <= 3 else f" and {len(ids) - 3} more"
        raise UsageError(f"{wanted!r} is the beginning of {len(ids)} ids: {', '.join(ids[:3])}{more}; give more of it")
    return rows


def table_noun(table: str) -> str:
    """The noun of the command line for a table or view."""
    nouns = {
        "trajectory_overview": "trajectories",
        "attempt_overview": "rollouts",
        "attempts": "rollouts",
        "sft_examples": "sft",
    }
    return nouns.get(table, table.removesuffix("_overview").rstrip("s") + "s")
