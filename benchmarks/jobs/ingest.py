"""`ingest`: our reader, hashing, identity and exactly-once append against a bare msgspec → Arrow → Delta loop.

The bare loop is the least that could be called ingest: decode each line's typed columns, keep the raw bytes, write.
It hashes nothing, knows no sources and would double everything on a second run. Both compress alike.
"""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
from deltalake import WriterProperties, write_deltalake

import lake
from assets.logs import ingest_paths
from assets.profile import Profile
from assets.stage import Context
from benchmarks.measure import Cost, Result, cost, paired
from benchmarks.sessions import write_sessions

SESSIONS = 1000
_BATCH = 10_000
_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("offset", pa.int64()),
        ("type", pa.string()),
        ("id", pa.string()),
        ("parent", pa.string()),
        ("ts", pa.string()),
        ("raw", pa.large_binary()),
    ]
)


class _Line(msgspec.Struct):
    type: str = ""
    id: str | None = None
    parentId: str | None = None  # noqa: N815 - the field's own name
    timestamp: str | None = None


def _bare(folder: Path, target: Path) -> None:
    decoder = msgspec.json.Decoder(_Line)

    def batches() -> Iterator[pa.RecordBatch]:
        columns: list[list[object]] = [[] for _ in _SCHEMA]
        for path in sorted(folder.rglob("*.jsonl")):
            name, offset = str(path), 0
            for line in path.read_bytes().split(b"\n"):
                if line:
                    record = decoder.decode(line)
                    row = (name, offset, record.type, record.id, record.parentId, record.timestamp, line)
                    for column, value in zip(columns, row, strict=True):
                        column.append(value)
                offset += len(line) + 1
            if len(columns[0]) >= _BATCH:
                yield pa.record_batch(columns, schema=_SCHEMA)
                columns = [[] for _ in _SCHEMA]
        if columns[0]:
            yield pa.record_batch(columns, schema=_SCHEMA)

    reader = pa.RecordBatchReader.from_batches(_SCHEMA, batches())
    write_deltalake(str(target), reader, writer_properties=WriterProperties(compression="ZSTD", compression_level=1))


def run(workdir: Path, runs: int) -> Result:
    """Events per CPU-second over 1,000 generated sessions, both ways, in the same process."""
    folder = workdir / "openclaw"
    events = write_sessions(folder, SESSIONS)
    size = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
    turn = 0

    def ours() -> Cost:
        nonlocal turn
        turn += 1
        opened = lake.open(workdir / f"lake{turn}")
        gc.collect()
        spent = cost(lambda: ingest_paths(Context(lake=opened, profile=Profile()), [folder]))
        shutil.rmtree(opened.root)
        return spent

    def peer() -> Cost:
        target = workdir / f"bare{turn}"
        gc.collect()
        spent = cost(lambda: _bare(folder, target))
        shutil.rmtree(target)
        return spent

    return paired(
        "ingest",
        events,
        "events per CPU-second",
        ours,
        peer,
        peer_is="bare msgspec-Arrow-Delta loop",
        runs=runs,
        detail={"sessions": SESSIONS, "bytes": size},
    )
