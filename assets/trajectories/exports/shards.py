"""Parquet files of bounded size, one schema over all of them, the same bytes for the same rows.

Does not belong here: what the columns are (`hf`, `scout`).
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


class Shards:
    """Writes rows in row groups, and a new file whenever one holds enough. Use as a context manager."""

    def __init__(self, folder: Path, prefix: str, schema: pa.Schema, *, group_rows: int, file_bytes: int) -> None:
        """Args:
        folder: where they go; made when the first row comes.
        prefix: of the file names, followed by a number.
        schema: of every file.
        group_rows: rows of a row group.
        file_bytes: text in a file before the next one begins, before compression. Bytes.
        """
        self.paths: list[Path] = []
        self._folder, self._prefix, self._schema = folder, prefix, schema
        self._group_rows, self._file_bytes = group_rows, file_bytes
        self._rows: list[dict[str, Any]] = []
        self._bytes = 0
        self._writer: pq.ParquetWriter | None = None

    def add(self, row: dict[str, Any], size: int) -> None:
        """One row, and how much text is in it. Bytes."""
        self._rows.append(row)
        self._bytes += size
        if len(self._rows) >= self._group_rows or self._bytes >= self._file_bytes:
            self._flush()
        if self._bytes >= self._file_bytes:
            self._close()

    def __enter__(self) -> Shards:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what is left."""
        self._flush()
        self._close()

    def write_empty(self) -> None:
        """A file of no rows, so that a set without any still has its schema."""
        self._open()
        self._close()

    def _flush(self) -> None:
        if not self._rows:
            return
        writer = self._writer or self._open()
        writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows = []

    def _open(self) -> pq.ParquetWriter:
        self._folder.mkdir(parents=True, exist_ok=True)
        self.paths.append(self._folder / f"{self._prefix}{len(self.paths):05d}.parquet")
        self._writer = pq.ParquetWriter(self.paths[-1], self._schema, compression="zstd")
        return self._writer

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer, self._bytes = None, 0
