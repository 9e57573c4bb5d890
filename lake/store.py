"""Delta tables on disk: create, append once, overwrite, read.

Belongs here: everything that touches `deltalake`. Does not belong here: what a table means, SQL, spools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, TableNotFoundError

from lake.errors import LakeError
from lake.schema import TABLES, Table

_WRITER = WriterProperties(compression="ZSTD", compression_level=3, max_row_group_size=2048)
_RETRIES = 100


class Store:
    """The Delta tables below one root, each created from its declared schema."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        """Folder of a table: `log/<name>` or `tables/<name>`."""
        return self.root / ("log" if TABLES[name].kind == "log" else "tables") / name

    def ensure(self, names: Iterable[str] = TABLES) -> None:
        """Create the tables that are not there yet, empty, from their schema."""
        for name in names:
            spec = TABLES[name]
            if not DeltaTable.is_deltatable(str(self.path(name))):
                DeltaTable.create(
                    str(self.path(name)),
                    spec.arrow,
                    mode="ignore",
                    partition_by=list(spec.partition_by) or None,
                    configuration={"delta.enableChangeDataFeed": "true"} if spec.kind == "log" else None,
                )

    def delta(self, name: str, version: int | None = None) -> DeltaTable:
        """Open a table, at a version if given.

        Raises:
            LakeError: the folder is not a Delta table or the version is not there.
        """
        try:
            return DeltaTable(str(self.path(name)), version=version)
        except (TableNotFoundError, OSError, ValueError) as error:
            at = "" if version is None else f" at version {version}"
            raise LakeError(
                f"table {name}{at} cannot be opened in {self.root}: {error}; run `clawgym lake verify`"
            ) from error

    def version(self, name: str) -> int:
        """Current Delta version of a table."""
        return self.delta(name).version()

    def append(self, name: str, rows: pa.Table, transactions: Mapping[str, int]) -> bool:
        """Append rows exactly once.

        Args:
            name: table.
            rows: rows in the table's schema.
            transactions: application id to batch number; all of them are recorded with the commit.

        Returns:
            False when every transaction was in the table already (somebody else did it), else True.

        Raises:
            LakeError: some but not all of the transactions are there; the caller mixes batches.
        """
        while True:
            table = self.delta(name)
            seen = {app: table.transaction_version(app) for app in transactions}
            done = [app for app, batch in transactions.items() if (at := seen[app]) is not None and at >= batch]
            if done and len(done) == len(transactions):
                return False
            if done:
                raise LakeError(f"table {name}: batch {done[0]} is in already but others of the same commit are not")
            try:
                write_deltalake(
                    table,
                    rows.cast(TABLES[name].arrow),
                    mode="append",
                    writer_properties=_WRITER,
                    commit_properties=CommitProperties(
                        max_commit_retries=_RETRIES,
                        app_transactions=[Transaction(app, batch) for app, batch in transactions.items()],
                    ),
                )
                return True
            except CommitFailedError:
                continue

    def overwrite(self, name: str, rows: pa.Table | pa.RecordBatchReader, metadata: Mapping[str, str]) -> int:
        """Replace the content of a projection table; old versions stay for `--as-of`.

        Returns:
            The new Delta version.
        """
        spec: Table = TABLES[name]
        if spec.kind == "log":
            raise LakeError(f"table {name} is part of the log and is never overwritten")
        write_deltalake(
            self.delta(name),
            rows,
            mode="overwrite",
            schema_mode="overwrite",
            writer_properties=_WRITER,
            commit_properties=CommitProperties(custom_metadata=dict(metadata), max_commit_retries=_RETRIES),
        )
        return self.version(name)

    def read(self, name: str, version: int | None = None) -> pa.Table:
        """A whole table in memory, with its declared column order."""
        return self.delta(name, version).to_pyarrow_table().select(TABLES[name].arrow.names)
