"""Digests: equal content gives equal digests however it is cut, another value another one."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.digest import kind_of, table_digest
from lake.ids import Json
from lake.schema import TABLES
from lake.schema.model import STRINGS, TIMESTAMP, Column, Table

SPEC = Table(
    name="digest_test",
    stage="lake",
    kind="projection",
    doc="",
    grain="",
    key=("k",),
    columns=(
        Column("k", pa.string(), ""),
        Column("text", pa.large_string(), "", nullable=True),
        Column("data", pa.large_binary(), "", nullable=True),
        Column("small", pa.int32(), "", nullable=True),
        Column("flag", pa.bool_(), "", nullable=True),
        Column("ratio", pa.float64(), "", nullable=True),
        Column("when", TIMESTAMP, "", nullable=True),
        Column("words", STRINGS, "", nullable=True),
        Column("ids", pa.list_(pa.int32()), "", nullable=True),
        Column("clock", pa.int64(), "", nullable=True, role="bookkeeping"),
    ),
)
ROW: dict[str, Json] = {
    "k": "a",
    "text": "té\ud7ff",
    "data": b"\x00\xff",
    "small": -1,
    "flag": False,
    "ratio": 0.5,
    "when": datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    "words": ["x", ""],
    "ids": [1, 2],
    "clock": 1,
}


@pytest.fixture(autouse=True)
def known_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLES, SPEC.name, SPEC)


def table(rows: list[dict[str, Json]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SPEC.arrow)


def digest(*rows: dict[str, Json]) -> str:
    return table_digest(SPEC.name, table(list(rows)))


def test_is_stable_over_versions_of_this_project() -> None:
    """A change of these values makes every lake's build records stale: raise the encoding's number with it."""
    assert digest() == "cceb5e4f56bfa0a673d023936d2c8fb0f99c68f48d4b04fc831b6dace54325f8"
    assert digest(ROW) == "66a1c363af0b20c9c6af14169eae1677970a483bd05cb5039178ef39d67a52cf"


OTHER: list[tuple[str, Json]] = [
    ("text", None), ("text", ""), ("text", "té"), ("data", b"\x00"), ("data", None), ("data", b""), ("small", 0),
    ("small", None), ("flag", True), ("flag", None), ("ratio", 0.25), ("ratio", None), ("ratio", float("nan")),
    ("when", None), ("words", ["x"]), ("words", []), ("words", None), ("words", ["", "x"]), ("words", ["x", None]),
    ("words", ["x", "", ""]), ("ids", [2, 1]), ("ids", []), ("ids", None), ("k", "b"),
]  # fmt: skip


@pytest.mark.parametrize(("column", "value"), OTHER)
def test_any_other_value_gives_another_digest(column: str, value: Json) -> None:
    assert digest({**ROW, column: value}) != digest(ROW)


def test_all_of_them_differ_from_each_other() -> None:
    found = [digest({**ROW, column: value}) for column, value in OTHER]
    assert len(set(found)) == len(found)


def test_values_do_not_flow_into_their_neighbours() -> None:
    one = [{**ROW, "k": "a", "text": "xy"}, {**ROW, "k": "b", "text": "z"}]
    two = [{**ROW, "k": "a", "text": "x"}, {**ROW, "k": "b", "text": "yz"}]
    assert digest(*one) != digest(*two)
    lists = [{**ROW, "k": "a", "words": ["x"]}, {**ROW, "k": "b", "words": ["y", "z"]}]
    other = [{**ROW, "k": "a", "words": ["x", "y"]}, {**ROW, "k": "b", "words": ["z"]}]
    assert digest(*lists) != digest(*other)


def test_bookkeeping_is_not_looked_at() -> None:
    assert digest({**ROW, "clock": 2}) == digest(ROW)


def test_zero_and_minus_zero_differ_and_nan_is_one_value() -> None:
    assert digest({**ROW, "ratio": 0.0}) != digest({**ROW, "ratio": -0.0})
    quiet = pa.array([float("nan")], pa.float64())
    odd = pa.Array.from_buffers(pa.float64(), 1, [None, pa.py_buffer(b"\x01\x00\x00\x00\x00\x00\xf8\x7f")])
    base = table([ROW])
    index = base.schema.get_field_index("ratio")
    digests = {table_digest(SPEC.name, base.set_column(index, base.schema.field("ratio"), v)) for v in (quiet, odd)}
    assert len(digests) == 1


def test_bytes_behind_a_null_are_not_looked_at() -> None:
    offsets = pa.py_buffer(b"".join(n.to_bytes(8, "little") for n in (0, 3, 5)))
    hidden = pa.Array.from_buffers(pa.large_string(), 2, [pa.py_buffer(b"\x02"), offsets, pa.py_buffer(b"xyzab")])
    assert hidden.to_pylist() == [None, "ab"]
    base = table([{**ROW, "k": "a", "text": None}, {**ROW, "k": "b", "text": "ab"}])
    index = base.schema.get_field_index("text")
    swapped = base.set_column(index, base.schema.field("text"), hidden)
    assert table_digest(SPEC.name, swapped) == table_digest(SPEC.name, base)


texts = st.none() | st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=5)
rows_strategy = st.lists(
    st.fixed_dictionaries(
        {
            "text": texts,
            "data": st.none() | st.binary(max_size=4),
            "small": st.none() | st.integers(-5, 5),
            "flag": st.none() | st.booleans(),
            "ratio": st.none() | st.floats(),
            "words": st.none() | st.lists(texts, max_size=3),
            "ids": st.none() | st.lists(st.integers(0, 3), max_size=3),
        }
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(rows_strategy, st.randoms(use_true_random=False), st.integers(1, 5))
def test_order_and_batches_leave_no_trace(rows: list[dict[str, Json]], chance: random.Random, size: int) -> None:
    TABLES[SPEC.name] = SPEC
    numbered = [{**row, "k": f"{i:03d}"} for i, row in enumerate(rows)]
    whole = table_digest(SPEC.name, table(numbered))
    shuffled = list(numbered)
    chance.shuffle(shuffled)
    cut = pa.concat_tables([table(shuffled[i : i + size]) for i in range(0, len(shuffled), size)] or [table([])])
    assert table_digest(SPEC.name, cut) == whole
    padded = table([{**ROW, "k": "-"}, *numbered, {**ROW, "k": "~"}]).slice(1, len(numbered))
    assert table_digest(SPEC.name, padded) == whole, "a slice is what it shows"


@settings(max_examples=30, deadline=None)
@given(rows_strategy)
def test_rows_too_large_to_be_copied_have_the_same_digest(rows: list[dict[str, Json]]) -> None:
    TABLES[SPEC.name] = SPEC
    numbered = table([{**row, "k": f"{i:03d}"} for i, row in enumerate(rows)])
    whole = table_digest(SPEC.name, numbered)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lake.digest._AT_ONCE", 1)
        assert table_digest(SPEC.name, numbered) == whole


def test_type_without_an_encoding_is_an_error() -> None:
    with pytest.raises(TypeError, match="no digest is defined for"):
        kind_of(pa.struct([("a", pa.int64())]))


def test_every_declared_column_has_an_encoding() -> None:
    for spec in TABLES.values():
        for column in spec.columns:
            kind_of(column.type)
