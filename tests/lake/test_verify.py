"""Verify finds what was planted, and nothing in a lake nobody touched. Status says how large it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import write_deltalake

import lake
from lake import Lake, rows_table
from lake.ids import Json, event_id, sha256_hex
from lake.status import status
from lake.verify import Verification, verify
from tests.lake import workload
from tests.lake.workload import WHEN


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pristine") / "lake"
    workload.run(root)
    return root


@pytest.fixture
def damaged(pristine: Path, tmp_path: Path) -> Lake:
    """A copy to damage."""
    shutil.copytree(pristine, tmp_path / "lake")
    return lake.open(tmp_path / "lake")


def plant(lake_: Lake, name: str, rows: list[dict[str, Json]]) -> None:
    """Append rows behind the back of every rule."""
    write_deltalake(str(lake_.store.path(name)), rows_table(name, rows), mode="append")


def event(seq: int, **more: Json) -> dict[str, Json]:
    """A row of events as it should be."""
    row = {
        "event_id": event_id("persona", "planted", seq),
        "stream_kind": "persona",
        "stream_id": "planted",
        "seq": seq,
        "type": "persona.noted",
        "type_version": 1,
        "occurred_at": WHEN,
        "recorded_at": WHEN,
        "actor": "tests",
        "payload": "{}",
    }
    return {**row, **more}


def record(**more: Json) -> dict[str, Json]:
    """An existing raw record's place with other content."""
    row = {
        "record_key": "k", "source_id": "s", "version": 0, "position": 0, "source_kind": "openclaw.jsonl",
        "source_path": "x", "raw": b"abc", "raw_size": 3, "raw_sha256": sha256_hex(b"abc"), "encoding": "identity",
        "parse_status": "ok", "ingested_at": WHEN,
    }  # fmt: skip
    return {**row, **more}


def blob(content: bytes, **more: Json) -> dict[str, Json]:
    row = {"sha256": sha256_hex(content), "size": len(content), "mime": "x", "data": content, "stored_at": WHEN}
    return {**row, **more}


def wrong(found: Verification) -> set[str]:
    return {check.name for check in found.checks if check.wrong}


def test_untouched_lake_is_whole_and_was_looked_at(pristine: Path) -> None:
    said: list[str] = []
    found = verify(lake.open(pristine), progress=said.append)
    assert found.ok
    assert not found.findings
    looked_at = {check.name: check.looked_at for check in found.checks}
    assert said == list(looked_at)
    assert looked_at["events"] == 13
    assert looked_at["streams"] == 5
    assert looked_at["raw_records"] == 12
    assert looked_at["blobs"] == 14
    assert looked_at["blob_references"] >= 7
    json.dumps(found.to_json())


DAMAGE: list[tuple[str, Callable[[Lake], None], str]] = [
    ("streams", lambda at: plant(at, "events", [event(0), event(2)]), "2 events numbered 0 to 2"),
    ("streams", lambda at: plant(at, "events", [event(1)]), "1 events numbered 1 to 1"),
    ("unique_keys", lambda at: plant(at, "events", [event(0), event(0)]), "2 rows have this key"),
    ("unique_keys", lambda at: plant(at, "personas", at.rows("personas")[:1]), "2 rows have this key"),
    ("events", lambda at: plant(at, "events", [event(0, event_id="0" * 64)]), "event_id should be"),
    ("events", lambda at: plant(at, "events", [event(0, payload="{")]), "payload is not JSON"),
    ("events", lambda at: plant(at, "events", [event(0, payload=None)]), "either a payload or a payload_blob"),
    ("events", lambda at: plant(at, "events", [event(0, payload=json.dumps("x" * 70_000))]), "belong into a blob"),
    ("raw_records", lambda at: plant(at, "raw_records", [record()]), "record_key should be"),
    ("raw_records", lambda at: plant(at, "raw_records", [_keyed(raw_sha256="0" * 64)]), "its bytes have sha256"),
    ("raw_records", lambda at: plant(at, "raw_records", [_keyed(raw_size=4)]), "its bytes have sha256"),
    ("raw_records", lambda at: plant(at, "raw_records", [_keyed(raw=None)]), "neither bytes nor the blob"),
    ("blobs", lambda at: plant(at, "blobs", [blob(b"x", data=b"y")]), "its content has sha256"),
    ("blobs", lambda at: plant(at, "blobs", [blob(b"x", size=2)]), "its content has sha256"),
    ("blobs", lambda at: plant(at, "blobs", [blob(b"x", data=None, object_path="no/thing")]), "cannot be read"),
    ("blob_references", lambda at: plant(at, "events", [event(0, payload=None, payload_blob="1" * 64)]), "not in the"),
    ("manifests", lambda at: plant(at, "events", [event(0, payload=_manifest())]), "which is not in the lake"),
    ("spools", lambda at: _damaged_spool(at), "of the sealed segment"),
    ("tables_open", lambda at: _remove_files(at, "personas"), "cannot be read"),
    ("tables_open", lambda at: _flip_byte(at, "raw_records"), "cannot be read"),
]  # fmt: skip


def _keyed(**more: Json) -> dict[str, Json]:
    from lake.ids import record_key

    return record(record_key=record_key("s", 0, 0), **more)


def _manifest() -> str:
    return json.dumps({"deep": [{"files": [{"path": "a", "sha256": "2" * 64, "size": 1}]}]})


def _damaged_spool(lake_: Lake) -> None:
    with lake_.spool("tests") as spool:
        spool.stream("persona", "p9").emit("persona.noted", {})
    (spool.path / "000000.jsonl").write_bytes(b"{}\n{")


def _remove_files(lake_: Lake, name: str) -> None:
    for file in lake_.store.path(name).glob("*.parquet"):
        file.unlink()


def _flip_byte(lake_: Lake, name: str) -> None:
    file = max(lake_.store.path(name).glob("*.parquet"), key=lambda path: path.stat().st_size)
    data = bytearray(file.read_bytes())
    data[600:800] = b"\xff" * 200  # inside the pages: the footer is at the end
    file.write_bytes(data)


@pytest.mark.parametrize(("check", "damage", "detail"), DAMAGE)
def test_planted_damage_is_found(damaged: Lake, check: str, damage: Callable[[Lake], None], detail: str) -> None:
    damage(damaged)
    found = verify(lake.open(damaged.root))
    assert not found.ok
    assert check in wrong(found)
    assert any(detail in finding.detail for finding in found.findings if finding.check == check)


def test_flipped_byte_of_a_blob_object_is_found(damaged: Lake) -> None:
    large = b"x" * (2 * 1024 * 1024)
    (sha,) = damaged.put_blobs([large])
    (damaged.root / "objects" / sha[:2] / sha).write_bytes(large[:-1] + b"y")
    found = verify(damaged)
    assert wrong(found) == {"blobs"}
    assert found.findings[0].subject == f"blob {sha}"


def test_many_findings_are_counted_and_some_listed(damaged: Lake) -> None:
    plant(damaged, "events", [event(i, payload="{") for i in range(100)])
    found = verify(damaged)
    (check,) = [check for check in found.checks if check.name == "events"]
    assert (check.looked_at, check.wrong) == (113, 100)
    assert len([finding for finding in found.findings if finding.check == "events"]) == 20


def test_unreadable_log_does_not_stop_the_other_checks(damaged: Lake) -> None:
    _remove_files(damaged, "events")
    found = verify(lake.open(damaged.root))
    assert "tables_open" in wrong(found)
    assert {"raw_records", "blobs"} <= {check.name for check in found.checks}


def test_status_says_what_is_there(pristine: Path) -> None:
    found = status(lake.open(pristine), workload.PROJECTIONS)
    tables = {table.table: table for table in found.tables}
    assert (tables["events"].rows, tables["events"].kind, tables["events"].built_by) == (13, "log", None)
    assert (tables["personas"].rows, tables["personas"].built_by, tables["personas"].stale) == (4, "personas@1", "")
    assert (tables["tasks"].rows, tables["tasks"].files, tables["tasks"].stale) == (0, 0, None)
    assert tables["personas"].bytes_on_disk > tables["personas"].bytes > 0
    (source,) = found.sources
    assert (source.source_kind, source.sources, source.records) == ("openclaw.jsonl", 1, 12)
    assert source.bytes > 3 * 1024 * 1024
    assert found.blobs == 14
    assert (found.snapshots, found.last_snapshot) == (0, None)
    assert (found.spool.spools, found.spool.segments) == (0, 0)
    json.dumps(found.to_json())


def test_status_shows_what_waits_and_what_is_stale(damaged: Lake) -> None:
    spool = damaged.spool("tests")
    stream = spool.stream("persona", "waiting")
    stream.emit("persona.created", {"text": "t", "blob": spool.put_blob(b"n")})
    spool.seal()
    stream.emit("persona.noted", {})
    with damaged.spool("tests") as dead:
        dead.stream("persona", "dead").emit("persona.noted", {})
    found = status(damaged, workload.PROJECTIONS)
    assert (found.spool.spools, found.spool.orphans, found.spool.segments) == (2, 1, 2)
    assert found.spool.bytes > 0
    damaged.commit()
    snapshot = damaged.snapshot("test")
    found = status(damaged, workload.PROJECTIONS)
    tables = {table.table: table for table in found.tables}
    assert tables["personas"].stale == "the log, an earlier table or a rule changed since it was built"
    assert tables["ledger"].stale == "it reads personas, which is stale"
    assert found.last_snapshot == snapshot
    spool.close()
