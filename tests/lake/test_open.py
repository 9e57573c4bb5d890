"""Opening: new, old, foreign, damaged and newer folders, and columns that came later."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lake
from lake import Lake
from lake.errors import LakeError, UsageError
from lake.schema import TABLES
from lake.schema.model import Column
from lake.settings import LAKE_FORMAT
from tests.lake import processes, workload


def open_at_once(root: Path, barrier: object) -> None:
    barrier.wait(30)  # type: ignore[attr-defined]
    lake.open(root)


def test_new_lake_has_every_table_empty_and_in_its_schema(empty: Lake) -> None:
    for name, spec in TABLES.items():
        assert empty.table(name).schema.equals(spec.arrow), name
        assert empty.table(name).num_rows == 0
    assert json.loads((empty.root / "lake.json").read_text())["lake_format"] == LAKE_FORMAT


def test_opening_again_changes_nothing(empty: Lake) -> None:
    before = (empty.root / "lake.json").read_bytes()
    lake.open(empty.root)
    assert (empty.root / "lake.json").read_bytes() == before
    assert all(empty.store.version(name) == 0 for name in TABLES)


def test_environment_names_the_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWGYM_LAKE", str(tmp_path / "here"))
    assert lake.open().root == tmp_path / "here"


def test_processes_may_create_it_at_once(tmp_path: Path) -> None:
    start = processes.barrier(4)
    assert processes.run_all([(open_at_once, (tmp_path / "lake", start))] * 4) == [0] * 4
    assert lake.open(tmp_path / "lake", create=False).table("events").num_rows == 0


def create_and_die(root: Path, tables: int) -> None:
    """Be killed when so many tables are there."""
    tables_of: Any = DeltaTable
    create = tables_of.create
    made: list[str] = []

    def killing(path: str, *args: Any, **kwargs: Any) -> Any:
        if len(made) == tables:
            os.kill(os.getpid(), signal.SIGKILL)
        made.append(path)
        return create(path, *args, **kwargs)

    tables_of.create = killing
    lake.open(root)


@pytest.mark.parametrize("tables", [0, 1, 7])
def test_a_lake_whose_creation_was_killed_is_created_by_the_next(tmp_path: Path, tables: int) -> None:
    root = tmp_path / "lake"
    assert processes.run(create_and_die, root, tables) == -signal.SIGKILL
    assert not (root / "lake.json").exists()
    assert lake.open(root).table("events").num_rows == 0
    assert not list(root.glob("*.tmp"))


def test_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.docx").write_text("x")
    with pytest.raises(LakeError, match=r"is not empty and not a lake \(no lake.json, but thesis.docx\)"):
        lake.open(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.docx"]


def test_file_is_no_lake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(LakeError, match="is a file"):
        lake.open(tmp_path / "file")


def test_nothing_there_and_not_to_be_created(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="there is no lake in"):
        lake.open(tmp_path / "lake", create=False)
    assert not (tmp_path / "lake").exists()


def test_newer_format_is_refused_untouched(empty: Lake) -> None:
    marker = empty.root / "lake.json"
    marker.write_text(json.dumps({"lake_format": LAKE_FORMAT + 1}))
    with pytest.raises(LakeError, match=f"has lake format {LAKE_FORMAT + 1}, this version reads up to {LAKE_FORMAT}"):
        lake.open(empty.root)
    assert json.loads(marker.read_text()) == {"lake_format": LAKE_FORMAT + 1}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"lake_format": "one"}', "7"])
def test_damaged_marker_is_an_error(empty: Lake, text: str) -> None:
    (empty.root / "lake.json").write_text(text)
    with pytest.raises(LakeError, match=r"lake\.json cannot be read"):
        lake.open(empty.root)


@pytest.mark.parametrize("name", ["100%", "a[b", "a|b", "a\nb", "a\\b"])
def test_path_that_delta_cannot_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="Delta tables allow no"):
        lake.open(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_table_that_came_later_is_created(empty: Lake) -> None:
    import shutil

    shutil.rmtree(empty.store.path("bench_scores"))
    assert lake.open(empty.root).table("bench_scores").num_rows == 0


def test_column_that_came_later_is_null_in_old_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workload.run(tmp_path)
    snapshot = lake.open(tmp_path).snapshot("before")
    spec = TABLES["personas"]
    wider = type(spec)(
        **{
            **{name: getattr(spec, name) for name in spec.__dataclass_fields__},
            "columns": (*spec.columns, Column("mood", pa.string(), "How they feel", nullable=True)),
        }
    )
    monkeypatch.setitem(TABLES, "personas", wider)
    opened = lake.open(tmp_path)
    assert opened.table("personas").column("mood").null_count == workload.STREAMS
    assert opened.at(snapshot).table("personas").column("mood").null_count == workload.STREAMS
    assert not opened.build(workload.PERSONAS).skipped, "another schema is another table"


def test_delta_log_is_never_cleaned_up_by_itself(empty: Lake) -> None:
    for name in TABLES:
        found = DeltaTable(str(empty.store.path(name))).metadata().configuration
        assert found["delta.enableExpiredLogCleanup"] == "false"
