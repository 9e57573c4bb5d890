"""Point reads give what SQL gives: over one file and many, for values that are there, are not, or are very long."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from lake import Lake
from lake.errors import UsageError
from lake.point import POINTS
from lake.raw import Batch

LONG = "s" * 200
SESSIONS = ["", "a", "a\u0301", "b", "żółw", LONG + "1", LONG + "2", "\U0010ffff" * 30]


def batch(source: str, sessions: list[str | None], number: int = 0) -> Batch:
    same = {"source_kind": "openclaw.jsonl", "source_path": "a", "encoding": "identity", "parse_status": "ok"}
    columns: dict[str, list[Any]] = {
        "position": [number * 100 + at for at in range(len(sessions))],
        "raw": [f"{source} {number} {at}".encode() for at in range(len(sessions))],
        "session_id": sessions,
    }
    return Batch(source, 0, number, len(sessions), columns, same)


@pytest.fixture
def filled(empty: Lake) -> Lake:
    """Sessions over several files, some in more than one, and records of none."""
    empty.append_raw_many([batch("one", ["b", "a", "b", None])])
    empty.append_raw_many([batch("two", [None, None])])
    empty.append_raw_many([batch("one", list(SESSIONS), 1), batch("three", ["b", LONG + "2"])])
    return empty


@pytest.mark.parametrize("value", [*SESSIONS, "c", LONG, LONG + "3"])
def test_a_point_read_gives_what_sql_gives(filled: Lake, value: str) -> None:
    expected = filled.raw_records("session_id = $1", [value])
    found = filled.point("raw_records", "session_id", value)
    assert found.to_pylist() == expected.to_pylist()
    assert found.schema.types == expected.schema.types
    assert found.num_rows == {"b": 4, "a": 2, LONG + "2": 2, "c": 0, LONG: 0, LONG + "3": 0}.get(value, 1)
    assert filled.point("raw_records", "session_id", value, ["raw"])["raw"].to_pylist() == expected["raw"].to_pylist()


def test_what_came_later_is_read_and_a_pinned_reader_stays(filled: Lake) -> None:
    reader = filled.now()
    assert reader.point("raw_records", "session_id", "c").num_rows == 0
    filled.append_raw_many([batch("four", ["c"])])
    assert filled.point("raw_records", "session_id", "c").num_rows == 1
    assert reader.point("raw_records", "session_id", "c").num_rows == 0


def test_files_that_cannot_hold_the_value_are_not_opened(filled: Lake) -> None:
    files = POINTS._of(filled.now().place("raw_records"), "session_id")
    assert len(files) == 2, "one holds no session at all"
    assert [sum(file.may_hold(value) for file in files) for value in ("a", "żółw")] == [2, 1]


def test_a_column_the_files_do_not_have_yet_is_null(filled: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any) -> Any:
        raise duckdb.BinderException("no such column")

    monkeypatch.setattr(POINTS, "read", read)
    found = filled.point("raw_records", "session_id", "b", ["position", "stored"])
    assert found.to_pylist() == filled.raw_records("session_id = 'b'").select(["position", "stored"]).to_pylist()


@pytest.mark.parametrize(("name", "column"), [("raw_records", "source_id"), ("attempts", "task_id")])
def test_a_column_the_table_is_not_sorted_by_is_refused(empty: Lake, name: str, column: str) -> None:
    with pytest.raises(UsageError, match="not sorted by"):
        empty.point(name, column, "x")
