"""Queries of people end in time, with a plain word, and the next one runs as if nothing had been."""

from __future__ import annotations

import time

import duckdb
import pytest

from lake import Lake
from lake.errors import UsageError

ENDLESS = "select sum(a.range * b.range % 7) from range(10000000) a, range(10000000) b"


@pytest.mark.parametrize("query", [ENDLESS, f"select 1; {ENDLESS}", f"explain analyze {ENDLESS}"])
def test_what_takes_too_long_is_stopped(empty: Lake, query: str) -> None:
    reader = empty.now()
    started = time.monotonic()
    with pytest.raises(UsageError, match=r"the query was stopped after 0\.3 s"):
        reader.answer(query, limit=10, seconds=0.3)
    assert time.monotonic() - started < 10
    assert reader.answer("select 1 as one", limit=10, seconds=10)[0].to_pylist() == [{"one": 1}]


def test_rows_are_bounded_and_said_so(empty: Lake) -> None:
    for count, more in ((3, False), (4, True)):
        found, said = empty.now().answer(f"from range({count})", limit=3, seconds=10)
        assert (found.num_rows, said) == (3, more)


def test_other_errors_stay_what_they_are(empty: Lake) -> None:
    with pytest.raises(duckdb.Error, match="nonsense"):
        empty.now().answer("select nonsense from events", limit=3, seconds=10)
    with pytest.raises(UsageError, match="only queries are allowed"):
        empty.now().answer("drop table events", limit=3, seconds=10)


@pytest.mark.parametrize(
    "call",
    [
        "length(repeat('x', 3000000000::bigint))",
        "main.REPEAT('x', 3000000000::bigint)",
        "levenshtein(type, type)",
        "(select lpad('x', 2000000000, ' '))",
    ],
)
def test_what_could_not_be_stopped_does_not_start(empty: Lake, call: str) -> None:
    for before in ("", "explain analyze "):
        with pytest.raises(UsageError, match="cannot be stopped while it runs"):
            empty.now().answer(f"{before}select {call} from events", limit=3, seconds=10)
    assert empty.sql("select repeat('x', 3)", read_only=True).fetchall() == [("xxx",)]
