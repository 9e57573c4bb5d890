"""Looks for a text in everything below a folder, inside compressed Parquet and SQLite too."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import zstandard


def files_holding(folder: Path, text: str) -> list[str]:
    """Names of the files that hold it, as they stand or unpacked."""
    return sorted({str(path.relative_to(folder)) for path in folder.rglob("*") if _holds(path, text.encode())})


def _holds(path: Path, wanted: bytes) -> bool:
    if not path.is_file() or path.is_symlink():
        return False
    return any(wanted in piece for piece in _contents(path))


def _contents(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    yield data
    if data[:4] == b"\x28\xb5\x2f\xfd":
        yield zstandard.ZstdDecompressor().decompressobj().decompress(data)
    if data[:4] == b"PAR1":
        for row in pq.ParquetFile(path).read().to_pylist():
            for value in row.values():
                yield value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    if data[:15] == b"SQLite format 3":
        yield "\n".join(sqlite3.connect(f"file:{path}?mode=ro", uri=True).iterdump()).encode("utf-8", "replace")
