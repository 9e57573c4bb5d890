"""Raw records and blobs put in directly: once each, whole, with the key and digest that follow from the bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import lake
from lake import Lake
from lake.errors import LakeError, LogError
from lake.ids import record_key, sha256_hex
from lake.raw import Batch
from lake.schema.log import RAW_RECORDS
from lake.settings import MAX_INLINE
from lake.verify import verify
from tests.lake.workload import SOURCE, raw_rows


def test_batch_goes_in_once(empty: Lake) -> None:
    assert empty.append_raw(SOURCE, 0, raw_rows(0))
    assert not empty.append_raw(SOURCE, 0, raw_rows(0))
    assert empty.append_raw(SOURCE, 1, raw_rows(1))
    assert not empty.append_raw(SOURCE, 0, raw_rows(0)), "an earlier batch is in as well"
    assert empty.append_raw(SOURCE, 0, [{**row, "version": 1} for row in raw_rows(0)]), "another version of the source"
    found = empty.raw_records("source_id = $1 and version = 0", [SOURCE])
    assert found.column("position").to_pylist() == [i * 100 for i in range(8)]
    assert found.schema.names == RAW_RECORDS.arrow.names
    assert verify(empty).ok


def test_key_size_and_digest_follow_from_the_bytes(empty: Lake) -> None:
    empty.append_raw(SOURCE, 0, raw_rows(0))
    small, *_, large = empty.raw_records().to_pylist()
    assert small["record_key"] == record_key(SOURCE, 0, 0)
    assert small["raw"] == raw_rows(0)[0]["raw"]
    assert (small["raw_size"], small["raw_sha256"]) == (len(small["raw"]), sha256_hex(small["raw"]))
    assert large["raw"] is None
    assert empty.blob(large["raw_blob"]) == raw_rows(0)[3]["raw"]


def test_record_at_the_limit_stays_inline(empty: Lake) -> None:
    base = raw_rows(0)[0]
    sizes = [MAX_INLINE, MAX_INLINE + 1]
    empty.append_raw(SOURCE, 0, [{**base, "position": i, "raw": b"x" * size} for i, size in enumerate(sizes)])
    assert [row["raw"] is not None for row in empty.raw_records().to_pylist()] == [True, False]


def test_arrow_rows_and_records_whose_bytes_are_a_blob(empty: Lake) -> None:
    (sha,) = empty.put_blobs([b"y" * 100])
    row = {**raw_rows(0)[0], "raw": None, "raw_blob": sha, "raw_size": 100, "source_id": SOURCE}
    full = {name: row.get(name) for name in RAW_RECORDS.arrow.names}
    empty.append_raw(
        SOURCE, 0, pa.Table.from_pylist([full], schema=pa.schema([f.with_nullable(True) for f in RAW_RECORDS.arrow]))
    )
    (found,) = empty.raw_records().to_pylist()
    assert (found["raw_sha256"], found["raw_size"]) == (sha, 100)
    assert verify(empty).ok


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[0].pop("parse_status"), "has no parse_status"),
        (lambda rows: rows[0].update(version=1), r"holds versions \[0, 1\]"),
        (lambda rows: rows[0].update(source_id="other"), "holds a record of source other"),
        (lambda rows: rows[0].update(raw=None), "has neither bytes nor a blob"),
    ],
)
def test_rows_that_break_a_rule_are_refused(empty: Lake, change: Callable[[Any], Any], message: str) -> None:
    rows = raw_rows(0)
    change(rows)
    with pytest.raises(LogError, match=message):
        empty.append_raw(SOURCE, 0, rows)
    assert empty.table("raw_records").num_rows == 0


def test_empty_batch_does_nothing(empty: Lake) -> None:
    assert not empty.append_raw(SOURCE, 0, [])
    assert empty.store.version("raw_records") == 0


def test_blobs_come_back_in_order_and_once(empty: Lake) -> None:
    large = bytes(range(256)) * (MAX_INLINE // 256 + 1)
    contents = [b"one", large, b"", b"one"]
    shas = empty.put_blobs(contents, "text/plain")
    assert shas == [sha256_hex(data) for data in contents]
    empty.put_blobs([b"one", b"two"])
    assert empty.table("blobs").num_rows == 4
    assert empty.blobs(shas) == {sha256_hex(data): data for data in contents}
    assert empty.blobs([]) == {}
    objects = [path for path in (empty.root / "objects").rglob("*") if path.is_file()]
    assert [path.name for path in objects] == [sha256_hex(large)]


def test_many_blobs_are_read_in_few_queries(empty: Lake) -> None:
    contents = [b"%d" % i for i in range(1200)]
    shas = empty.put_blobs(contents)
    assert list(empty.blobs(reversed(shas)).values()) == [contents[shas.index(sha)] for sha in sorted(shas)]


def test_missing_blobs_say_which_and_how_many(empty: Lake) -> None:
    (sha,) = empty.put_blobs([b"x"])
    with pytest.raises(LakeError, match=rf"blob {'0' * 64} \(and 1 more\) is not in"):
        empty.blobs([sha, "0" * 64, "1" * 64])
    (large,) = empty.put_blobs([b"z" * (MAX_INLINE + 1)])
    (empty.root / "objects" / large[:2] / large).unlink()
    with pytest.raises(LakeError, match=f"blob {large} has no object file"):
        empty.blob(large)


def batch(name: str, number: int, at: int, **changes: Any) -> Batch:
    same = {"source_kind": "openclaw.jsonl", "source_path": "a.jsonl", "encoding": "identity", "parse_status": "ok"}
    columns: dict[str, list[Any]] = {"position": [at], "raw": [b"%d" % at], **changes}
    return Batch(name, 0, number, 1, columns, same)


@pytest.mark.parametrize("looked_up", [True, False])
def test_of_many_batches_those_that_are_in_are_left_out_and_the_others_go_in(empty: Lake, looked_up: bool) -> None:
    store = empty.store
    since = None if looked_up else store.transactions_since("raw_records", store.version("raw_records"))
    assert empty.append_raw_many([batch("a", 0, 0), batch("b", 0, 0)], since=since) == ["appended"] * 2
    other = lake.open(empty.root)
    assert other.append_raw_many([batch("c", 0, 0)]) == ["appended"]
    version = store.version("raw_records")
    many = [batch("a", 1, 1), batch("b", 0, 0), batch("c", 0, 0), batch("d", 0, 0)]
    assert empty.append_raw_many(many, since=since) == ["appended", "there", "there", "appended"]
    assert store.version("raw_records") == version + 1
    assert empty.append_raw_many(many, since=since) == ["there"] * 4
    assert store.version("raw_records") == version + 1
    rows = empty.raw_records().to_pylist()
    assert [(row["source_id"], row["position"]) for row in rows] == [("a", 0), ("a", 1), ("b", 0), ("c", 0), ("d", 0)]
    assert all(row["record_key"] == record_key(row["source_id"], 0, row["position"]) for row in rows)
    assert verify(empty).ok


def test_many_batches_that_break_a_rule_are_refused_whole(empty: Lake) -> None:
    bad = [
        ([batch("a", 0, 0), batch("a", 1, 1)], "two batches of one version"),
        ([batch("a", 0, 0), batch("b", 0, 0, position=[1, 2])], "another number of position"),
        ([batch("a", 0, 0), Batch("b", 0, 0, 1, {"raw": [b""]}, {})], "has no position, source_kind"),
    ]
    for batches, message in bad:
        with pytest.raises(LogError, match=message):
            empty.append_raw_many(batches)
    assert empty.table("raw_records").num_rows == 0
