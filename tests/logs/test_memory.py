"""Memory is bounded at any size of file and line."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import lake

GIB = 1024**3
LINE = 300 * 1024**2
FILE = GIB
CODE = """
import json, sys
import lake
from assets.logs import ingest_paths
from assets.profile import Profile
from assets.stage import Context
from benchmarks.measure import peak_memory
counts = [dict(ingest_paths(Context(lake.open(sys.argv[1]), Profile()), sys.argv[2:])) for _ in range(2)]
print(json.dumps({"counts": counts, "peak": peak_memory()}))
"""


def write_large(path: Path, size: int, line: int) -> int:
    """A session of many records with one of `line` bytes in the middle; returns the number of records."""
    chunk = json.dumps({"type": "custom", "data": "y" * (200 * 1024)}).encode() + b"\n"
    records = 1
    with path.open("wb") as file:
        file.write(b'{"type":"session","version":3,"id":"large"}\n')
        while file.tell() < size:
            file.write(chunk)
            records += 1
            if records == 1000:
                file.write(b'{"type":"custom","data":"')
                for _ in range(line // 2**20):
                    file.write(b"x" * 2**20)
                file.write(b'"}\n')
                records += 1
    return records


@pytest.mark.long
def test_a_gigabyte_with_a_line_of_300_mb_takes_two_gigabytes_at_most(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    records = write_large(path, FILE, LINE)
    assert path.stat().st_size >= FILE
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "lake"), str(path)], capture_output=True, text=True, check=True
    )
    said = json.loads(done.stdout)
    assert said["counts"][0] == {"new": 1, "records": records, "left": 0}
    assert said["counts"][1] == {"unchanged": 1, "left": 0}
    assert said["peak"] <= 2 * GIB, f"peak memory {said['peak'] / GIB:.2f} GiB"
    opened = lake.open(tmp_path / "lake")
    (row,) = opened.sql(
        "select raw_size, raw_blob, parse_status from raw_records where parse_status <> 'ok'"
    ).fetchall()
    assert row[0] == LINE + len(b'{"type":"custom","data":""}') and row[2] == "oversized"
    assert (opened.root / "objects" / row[1][:2] / row[1]).stat().st_size == row[0]


BOMB = 400 * 1024**2


@pytest.mark.slow
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("document", [True, False])
def test_a_small_file_that_holds_a_huge_record_takes_no_memory_for_it(
    tmp_path: Path, packed: bool, document: bool
) -> None:
    """Compressed or not, a line of a log or a document of its own: the record is in the lake, never in memory."""
    path = tmp_path / ("trajectory.json" if document else "bomb.jsonl")
    path = path.with_name(path.name + ".gz") if packed else path
    start = b'{"schema_version":"ATIF-v1.4","steps":"' if document else b'{"type":"custom","data":"'
    with gzip.open(path, "wb", 1) if packed else path.open("wb") as file:
        if not document:
            file.write(b'{"type":"session","version":3,"id":"bomb"}\n')
        file.write(start)
        for _ in range(BOMB // 2**20):
            file.write(b"x" * 2**20)
        file.write(b'"}' if document else b'"}\n{"type":"custom","data":"after"}\n')
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "lake"), str(path)], capture_output=True, text=True, check=True
    )
    said = json.loads(done.stdout)
    assert said["counts"][0] == {"new": 1, "records": 1 if document else 3, "left": 0}
    assert said["counts"][1] == {"unchanged": 1, "left": 0}
    assert said["peak"] <= BOMB, f"peak memory {said['peak'] / GIB:.2f} GiB"
    opened = lake.open(tmp_path / "lake")
    ((size, blob, sha),) = opened.sql(
        "select raw_size, raw_blob, raw_sha256 from raw_records where parse_status = 'oversized'"
    ).fetchall()
    assert (size, sha) == (len(start) + BOMB + len(b'"}'), blob)
    with (opened.root / "objects" / blob[:2] / blob).open("rb") as stored:
        assert hashlib.file_digest(stored, "sha256").hexdigest() == blob
