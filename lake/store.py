"""Delta tables on disk: create, append once, overwrite, read.

Belongs here: everything that touches `deltalake`. Does not belong here: what a table means, SQL, spools.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
from deltalake import (
    ColumnProperties,
    CommitProperties,
    DeltaTable,
    Schema,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from lake.durable import fsync
from lake.engine import Engines, Place, literal
from lake.errors import LakeError
from lake.files import write_file
from lake.ids import Json
from lake.schema import TABLES, Table

_ROW_GROUP: Final = 2048
"""Rows of a row group; small ones make point reads cheap."""

_LARGE_ROWS: Final = {"blobs": 64, "raw_records": 512, "sft_examples": 64, "trajectories": 64}
"""The same where rows may be large and nothing is known of their sizes."""

_ROW_GROUP_BYTES: Final = 1024 * 1024
"""Where it is known, a row group holds about this much, and in tables of `_LARGER` so many times as much."""

_LARGER: Final = {"raw_records": 4}
"""A row group costs its writer more than its reader where many rows of a session are read at once."""

_SLICE: Final = 8192
"""Rows handed to the Delta writer at a time."""

_LEVEL: Final = {"raw_records": 1}
"""zstd level: logs are taken in at the speed of their writers, and level 3 makes them 2 % smaller. 3 elsewhere."""

_UNLIKE: Final = {
    "raw_records": ("raw", "stored", "record_key", "raw_sha256", "record_id", "parent_id"),
}
"""Columns whose values hardly repeat and are not in any order: a dictionary or a range of them says nothing."""
_RETRIES: Final = 100

_KEPT: Final = {"delta.enableExpiredLogCleanup": "false", "delta.logRetentionDuration": "interval 36500 days"}
"""The Delta log is never cleaned up by itself: snapshots name its versions, and it says how each table was built."""

Prepared = tuple[pa.Table, Mapping[str, int]]
"""Rows to append and the application transactions that make the append happen once."""


class TransactionsSince:
    """Application transactions committed to a table after a version, read from the log entries as they come.

    The Delta reader answers for one application id at a time, in milliseconds; this answers for any number at once.
    """

    def __init__(self, table: Path, version: int) -> None:
        """Args:
        table: the table's folder.
        version: the version before the first one read.
        """
        self._log, self._version = table / "_delta_log", version
        self._last: dict[str, int] = {}

    def read(self, version: int) -> None:
        """Take in the commits up to and with a version.

        Raises:
            LakeError: the entry of one of them is not there.
        """
        while self._version < version:
            entry = self._log / f"{self._version + 1:020}.json"
            try:
                actions = read_log_entry(entry)
            except FileNotFoundError as error:
                raise LakeError(f"log entry {entry} is missing; run `clawgym lake verify`") from error
            for action in actions:
                if "txn" in action:
                    app = action["txn"]["appId"]
                    self._last[app] = max(self._last.get(app, -1), action["txn"]["version"])
            self._version += 1

    def last(self, app: str) -> int:
        """The last batch number of an application id among them; -1 where there is none."""
        return self._last.get(app, -1)


class Store:
    """The Delta tables below one root, each created from its declared schema. Safe to use from several threads."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._versions: dict[str, int] = {}
        self.engines = Engines(root)
        """DuckDB over these tables."""

    def path(self, name: str) -> Path:
        """Folder of a table: `log/<name>` or `tables/<name>`."""
        return self.root / ("log" if TABLES[name].kind == "log" else "tables") / name

    def place(self, name: str, version: int | None = None) -> Place:
        """A table at a version, the current one where none is given.

        Raises:
            LakeError: there is no table.
        """
        at = self.version(name) if version is None else version
        try:
            made = (self.path(name) / "_delta_log" / f"{0:020}.json").stat()
        except OSError as error:
            raise LakeError(f"table {name} of {self.root} is not there: {error}; run `clawgym lake verify`") from error
        return Place(self.path(name), at, made.st_ino ^ made.st_mtime_ns)

    def ensure(self, names: Iterable[str] = TABLES) -> None:
        """Create the tables that are not there yet, empty, from their schema; add columns declared since."""
        for name in names:
            spec = TABLES[name]
            if not DeltaTable.is_deltatable(str(self.path(name))):
                DeltaTable.create(
                    str(self.path(name)),
                    spec.arrow,
                    mode="ignore",
                    partition_by=list(spec.partition_by) or None,
                    configuration=configuration(spec),
                )
                continue
            table = self.delta(name)
            if configuration(spec).items() - table.metadata().configuration.items():
                table.alter.set_table_properties(configuration(spec))
                table = self.delta(name)
            have = {field.name for field in table.schema().fields}
            new = [field.with_nullable(True) for field in spec.arrow if field.name not in have]
            if new:
                table.alter.add_columns(new_fields(new))

    def delta(self, name: str, version: int | None = None) -> DeltaTable:
        """Open a table, at a version if given.

        Raises:
            LakeError: the folder is not a Delta table or the version is not there.
        """
        try:
            return DeltaTable(str(self.path(name)), version=version)
        except (TableNotFoundError, DeltaError, OSError, ValueError) as error:
            at = "" if version is None else f" at version {version}"
            raise LakeError(
                f"table {name}{at} cannot be opened in {self.root}: {error}; run `clawgym lake verify`"
            ) from error

    def version(self, name: str) -> int:
        """Current Delta version of a table. Cheap: looks for log entries after the last one seen."""
        log = self.path(name) / "_delta_log"
        with self._lock:
            version = self._versions.get(name)
        if version is None or not log.is_dir():
            version = self.delta(name).version()
        while (log / f"{version + 1:020}.json").exists():
            version += 1
        with self._lock:
            self._versions[name] = version
        return version

    def transactions_since(self, name: str, version: int) -> TransactionsSince:
        """The application transactions that a table gets after a version."""
        return TransactionsSince(self.path(name), version)

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

        def prepare(table: DeltaTable) -> Prepared | None:
            done = [app for app, batch in transactions.items() if is_done(table, app, batch)]
            if done and len(done) < len(transactions):
                raise LakeError(f"table {name}: batch {done[0]} is in already but others of the same commit are not")
            return None if done else (rows, transactions)

        return self.transact(name, prepare)

    def transact(self, name: str, prepare: Callable[[DeltaTable], Prepared | None]) -> bool:
        """Append what `prepare` computes from the state of a table, if nobody else changed its transactions meanwhile.

        `prepare` runs again on the newer state when a racing commit carried one of the same application ids; it gives
        None when there is nothing left to do. What it read of the table is therefore what the append follows on.

        Returns:
            Whether anything was appended.

        Raises:
            LakeError: the append failed for another reason, or lost a hundred races.
        """
        for turn in range(_RETRIES):
            table = self.delta(name)
            prepared = prepare(table)
            if prepared is None:
                return False
            rows, transactions = prepared
            before = table.version()
            try:
                write_deltalake(
                    table,
                    in_slices(rows.cast(TABLES[name].arrow)),
                    mode="append",
                    writer_properties=writer(name, rows),
                    commit_properties=CommitProperties(
                        max_commit_retries=_RETRIES,
                        app_transactions=[Transaction(app, batch) for app, batch in transactions.items()],
                    ),
                )
            except CommitFailedError:
                time.sleep(random.uniform(0, 0.01 * (turn + 1)))
                continue
            except (DeltaError, OSError) as error:
                raise LakeError(f"table {name} in {self.root} cannot be written: {error}; nothing was added") from error
            self._harden(name, before)
            return True
        raise LakeError(
            f"table {name}: {_RETRIES} appends in a row were overtaken by others; run fewer writers at once"
        )

    def _harden(self, name: str, before: int) -> None:
        """Force the files of the commits after version `before` to disk: the Delta writer does not.

        Only then may spools be marked, since they are deleted after.
        """
        folder = self.path(name)
        log = folder / "_delta_log"
        folders = {folder, log}
        version = before + 1
        while (entry := log / f"{version:020}.json").exists():
            for action in read_log_entry(entry):
                if "add" in action:
                    file = folder / unquote(action["add"]["path"])
                    folders.add(file.parent)
                    with suppress(FileNotFoundError):  # merged into another one meanwhile
                        fsync(file)
            fsync(entry)
            version += 1
        for path in sorted(folders):
            fsync(path)

    @contextmanager
    def _replacing(self, name: str) -> Iterator[None]:
        """While a projection table is written anew: the one error of that, and none of it on the log."""
        if TABLES[name].kind == "log":
            raise LakeError(f"table {name} is part of the log and is never overwritten")
        try:
            yield
        except (DeltaError, OSError) as error:
            raise LakeError(
                f"table {name} in {self.root} cannot be written: {error}; it is as it was, build it again"
            ) from error

    def overwrite(self, name: str, rows: pa.Table | pa.RecordBatchReader, metadata: Mapping[str, str]) -> int:
        """Replace the content of a projection table; old versions stay for `--as-of`.

        Returns:
            The new Delta version.
        """
        with self._replacing(name):
            write_deltalake(
                self.delta(name),
                in_slices(rows) if isinstance(rows, pa.Table) else rows,
                mode="overwrite",
                schema_mode="overwrite",
                writer_properties=writer(name, rows if isinstance(rows, pa.Table) else None),
                commit_properties=CommitProperties(custom_metadata=dict(metadata), max_commit_retries=_RETRIES),
            )
        return self.version(name)

    def overwrite_by_file(self, name: str, files: Iterable[pa.Table], metadata: Mapping[str, str]) -> int:
        """Replace the content of a projection table by files of these rows, each written before the next is asked for.

        Args:
            name: table, not partitioned.
            files: rows in the declared schema and order, none of them empty.
            metadata: what the commit says.

        Returns:
            The new Delta version.
        """
        spec: Table = TABLES[name]
        rows, level, unlike = _LARGE_ROWS.get(name, _ROW_GROUP), _LEVEL.get(name, 3), _UNLIKE.get(name, ())
        with self._replacing(name):
            added = [
                write_file(self.path(name), spec, part, level=level, row_group=rows, unlike=unlike) for part in files
            ]
            self.delta(name).create_write_transaction(
                list(added),
                "overwrite",
                Schema.from_arrow(spec.arrow),
                commit_properties=CommitProperties(custom_metadata=dict(metadata), max_commit_retries=_RETRIES),
            )
        return self.version(name)

    def replace(
        self,
        name: str,
        rows: pa.RecordBatchReader | None,
        column: str,
        values: Sequence[str],
        metadata: Mapping[str, str],
    ) -> int:
        """Take the rows of a projection table with some values of a column out and put others in, in one commit.

        Args:
            name: table.
            rows: what goes in; None for nothing. Where there are `values`, `column` holds one of them in all of it.
            column: a text column.
            values: rows with these go out; files without any of them stay as they are. Nothing goes out without.
            metadata: what the commit says; it is made even where nothing changes.

        Returns:
            The new Delta version.
        """
        said = CommitProperties(custom_metadata=dict(metadata), max_commit_retries=_RETRIES)
        gone = f"{column} in ({', '.join(map(literal, values))})"
        properties = writer(name)
        with self._replacing(name):
            if rows is not None and values:
                write_deltalake(
                    self.delta(name),
                    rows,
                    mode="overwrite",
                    predicate=gone,
                    writer_properties=properties,
                    commit_properties=said,
                )
                return self.version(name)
            if values:
                before = self.version(name)
                self.delta(name).delete(gone, writer_properties=properties, commit_properties=said)
                if self.version(name) > before:
                    return self.version(name)
            given = rows if rows is not None else TABLES[name].arrow.empty_table()
            write_deltalake(
                self.delta(name), given, mode="append", writer_properties=properties, commit_properties=said
            )
        return self.version(name)

    def commit_info(self, name: str, version: int) -> dict[str, Json]:
        """What a commit says about itself (operation, metadata); empty when its log entry was cleaned up."""
        entry = self.path(name) / "_delta_log" / f"{version:020}.json"
        if not entry.exists():
            return {}
        infos = [action["commitInfo"] for action in read_log_entry(entry) if "commitInfo" in action]
        return dict(infos[0]) if infos else {}


def configuration(spec: Table) -> dict[str, str]:
    """Delta properties of a table.

    Statistics are kept of key and order columns only: those of texts would repeat texts in the Delta log, where
    nothing is ever forgotten.
    """
    columns = dict.fromkeys((*spec.key, *spec.sort_by))
    return {**_KEPT, "delta.dataSkippingStatsColumns": ",".join(columns)}


def new_fields(fields: list[pa.Field]) -> list[Json]:
    """Arrow fields as Delta fields."""
    from deltalake import Schema

    return list(Schema.from_arrow(pa.schema(fields)).fields)


def is_done(table: DeltaTable, app: str, batch: int) -> bool:
    """Whether a table holds batch number `batch` (or a later one) of an application id."""
    at = table.transaction_version(app)
    return at is not None and at >= batch


def next_batch(table: DeltaTable, app: str) -> int:
    """The number after the last batch of an application id.

    Carried by every append of a kind, it makes any two racing ones conflict: the loser reads again and then decides.
    """
    at = table.transaction_version(app)
    return 0 if at is None else at + 1


def read_log_entry(path: Path) -> list[dict[str, Json]]:
    """The actions of one Delta log entry."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def in_slices(rows: pa.Table) -> pa.Table:
    """The same rows in chunks of some thousand: the Delta writer is half as slow again over a single large one."""
    return pa.Table.from_batches(rows.to_batches(max_chunksize=_SLICE), rows.schema)


def writer(name: str, rows: pa.Table | None = None) -> WriterProperties:
    """How the Parquet files of a table are written; long texts do not stand in the footers a second time.

    Args:
        name: table.
        rows: what is to be written, where it is at hand.
    """
    size = _LARGE_ROWS.get(name, _ROW_GROUP)
    if rows is not None and rows.num_rows:
        size = min(_ROW_GROUP, max(1, _LARGER.get(name, 1) * _ROW_GROUP_BYTES * rows.num_rows // max(1, rows.nbytes)))
    plain = ColumnProperties(dictionary_enabled=False, statistics_enabled="NONE")
    return WriterProperties(
        compression="ZSTD",
        compression_level=_LEVEL.get(name, 3),
        max_row_group_size=size,
        statistics_truncate_length=64,
        column_properties=dict.fromkeys(_UNLIKE.get(name, ()), plain),
    )
