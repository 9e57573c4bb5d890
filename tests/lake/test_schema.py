"""The schema as data: what every table must state, and that the page written from it is current."""

from __future__ import annotations

import pytest

from lake.docs import PAGE, cell, page
from lake.schema import TABLES, table


@pytest.mark.parametrize("name", TABLES)
def test_table_states_what_it_must(name: str) -> None:
    spec = TABLES[name]
    columns = [column.name for column in spec.columns]
    assert spec.name == name
    assert len(columns) == len(set(columns))
    assert spec.doc and spec.grain and spec.key
    for column in (*spec.key, *spec.sort_by, *spec.partition_by):
        assert column in columns
    for column in spec.key:
        assert not spec.column(column).nullable, "a key is never null"
        assert spec.column(column).role == "content"
    assert all(column.doc for column in spec.columns)


@pytest.mark.parametrize("name", TABLES)
def test_references_point_at_columns_of_the_same_type(name: str) -> None:
    for column in TABLES[name].columns:
        if column.references is not None:
            target, _, other = column.references.partition(".")
            assert TABLES[target].column(other).type == column.type, column.references


def test_content_columns_leave_out_bookkeeping() -> None:
    events = TABLES["events"]
    assert "recorded_at" not in events.content_columns
    assert set(events.content_columns) < set(events.arrow.names)


def test_unknown_names_say_what_there_is() -> None:
    with pytest.raises(KeyError, match="no table 'nothing'; there are: events"):
        table("nothing")
    with pytest.raises(KeyError, match="has no column 'x'"):
        table("events").column("x")


def test_page_of_tables_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m lake.docs"


def test_cells_do_not_break_a_table() -> None:
    assert cell("a | b\nc") == "a \\| b c"
