"""The schema mechanism: tables and columns as plain data.

Belongs here: the `Column` and `Table` types and what is derived from them (Arrow schema, key, digest columns).
Does not belong here: any concrete table (one file per stage beside this one) or any input/output.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import pyarrow as pa

TIMESTAMP = pa.timestamp("us", tz="UTC")
"""The one timestamp type of the lake: microseconds, UTC."""

STRINGS = pa.list_(pa.string())
"""A list of strings."""


@dataclass(frozen=True)
class Column:
    """One column: what it is called, its Arrow type and what it means."""

    name: str
    type: pa.DataType
    doc: str
    nullable: bool = False
    unit: str | None = None
    role: Literal["content", "bookkeeping"] = "content"
    """`bookkeeping` columns (clock times of the build, run ids) are left out of digests."""
    references: str | None = None
    """`table.column` this value points at; `clawgym explain` walks these."""


@dataclass(frozen=True)
class Table:
    """One Delta table: its grain, its key and its columns."""

    name: str
    stage: str
    """The stage word: asset group, `sql/<stage>/`, dashboard page and `tests/<stage>/` carry the same one."""
    kind: Literal["log", "projection"]
    doc: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    sort_by: tuple[str, ...] = ()
    """Physical order; the key where empty."""
    partition_by: tuple[str, ...] = ()

    @cached_property
    def arrow(self) -> pa.Schema:
        """The Arrow schema; every table is created from it, never from data."""
        return pa.schema([pa.field(c.name, c.type, nullable=c.nullable) for c in self.columns])

    @cached_property
    def content_columns(self) -> tuple[str, ...]:
        """The columns that take part in digests, in declared order."""
        return tuple(c.name for c in self.columns if c.role == "content")

    def column(self, name: str) -> Column:
        """The column called `name`; KeyError if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"table {self.name} has no column {name!r}")
