"""DuckDB over the Delta tables: one connection, a view per table, optionally as of a snapshot.

Belongs here: connections, views, identifiers. Does not belong here: SQL text longer than a view (see `sql/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb
import duckdb_extension_delta

from lake.schema import TABLES
from lake.store import Store

SQL_ROOT = Path(__file__).resolve().parent.parent / "sql"
"""The folder of `.sql` files."""


def quote(identifier: str) -> str:
    """An SQL identifier in double quotes; the one place identifiers are quoted."""
    return '"' + identifier.replace('"', '""') + '"'


def connect(
    store: Store, versions: Mapping[str, int] | None = None, *, views: bool = True
) -> duckdb.DuckDBPyConnection:
    """A fresh in-memory DuckDB connection with a view per lake table, then the views of `sql/views/*.sql` in name order.

    Args:
        store: the tables.
        versions: table name to Delta version (a snapshot); current versions where absent.
        views: whether to create the views of `sql/views`.
    """
    connection = duckdb.connect(":memory:")
    connection.execute("set timezone = 'UTC'")
    extension = next(Path(duckdb_extension_delta.__file__).parent.rglob("delta.duckdb_extension"))
    connection.execute(f"load '{extension}'")
    for name in TABLES:
        at = "" if versions is None or name not in versions else f", version => {int(versions[name])}"
        path = str(store.path(name)).replace("'", "''")
        connection.execute(f"create view {quote(name)} as select * from delta_scan('{path}'{at})")
    if views:
        for file in sorted((SQL_ROOT / "views").glob("*.sql")):
            connection.execute(file.read_text())
    return connection
