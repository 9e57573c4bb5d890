"""The parts of builds by group: records of many sources dealt out, rows collected, claims, rows replaced in place."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

import lake
from lake import Lake, chunks, rows_table
from lake.claims import Index
from lake.digest import Sum, sum_of, table_digest
from lake.errors import LakeError
from lake.grouping import Group, Made
from lake.grouping import chunks as in_chunks
from lake.ids import Json
from lake.spill import Spill
from tests.lake import workload

COLUMNS = ("source_id", "version", "position", "raw")


def row(holder: str, identity: str, group: str = "") -> dict[str, Json]:
    return {"holder": holder, "identity": identity, **({"group_id": group} if group else {})}


def made(*groups: tuple[str, list[dict[str, Json]]]) -> Made:
    return [(Group(name, name, "", 0), {"answer_claims": rows}) for name, rows in groups]


def put(lake_: Lake, *rows: dict[str, Json]) -> None:
    lake_.store.overwrite("answer_claims", rows_table("answer_claims", list(rows)), {})


def held(lake_: Lake) -> list[tuple[str, str, str]]:
    return sorted((row["group_id"], row["holder"], row["identity"]) for row in lake_.rows("answer_claims"))


# --- records ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("queries", "opened"), [(8, 128), (0, 128), (0, 2)], ids=["queries", "files", "shared files"])
def test_records_of_each_list_come_whole_and_in_order(
    empty: Lake, monkeypatch: pytest.MonkeyPatch, queries: int, opened: int
) -> None:
    monkeypatch.setattr(chunks, "_QUERIES", queries)
    monkeypatch.setattr(chunks, "_OPEN", opened)
    sources = [f"{number:064d}" for number in range(5)]
    for batch in (0, 1):
        for source in sources:
            empty.append_raw(source, batch, workload.raw_rows(batch))
    lists = [[(sources[3], 0), (sources[0], 0)], [], [(sources[4], 0)], [(sources[1], 0), ("missing", 0)]]
    found = list(chunks.read_chunks(empty.now(), lists, COLUMNS))
    assert [table.num_rows for table in found] == [16, 0, 8, 8]
    for wanted, table in zip(lists, found, strict=True):
        ids = ", ".join(f"'{source}'" for source, _ in wanted) or "null"
        assert table.equals(empty.raw_records(f"source_id in ({ids})").select(COLUMNS).cast(table.schema))
    assert not list((empty.root / "scratch").glob("*"))


@pytest.mark.parametrize("name", ["a lake", "l\u00e4ke"])
def test_records_are_found_whatever_the_lake_s_folder_is_called(empty: Lake, tmp_path: Path, name: str) -> None:
    shutil.copytree(empty.root, tmp_path / name)
    called = lake.open(tmp_path / name)
    source = "0" * 64
    called.append_raw(source, 0, workload.raw_rows(0))
    (found,) = chunks.read_chunks(called.now(), [[(source, 0)]], COLUMNS)
    assert found.num_rows == 4


def test_groups_are_held_together_up_to_a_size_or_alone() -> None:
    sizes = [1, 2**23, 2**23, 2**30, 1]
    groups = [Group(str(number), "", "", size) for number, size in enumerate(sizes)]
    assert [[group.group_id for group in chunk] for chunk in in_chunks(groups)] == [["0", "1"], ["2"], ["3"], ["4"]]
    assert len(in_chunks([groups[0]] * 300)) == 2


# --- rows ---------------------------------------------------------------------------------------------------------


def test_rows_come_back_sorted_with_the_sum_of_each_group(tmp_path: Path) -> None:
    with Spill(tmp_path, ["answer_claims"]) as spill:
        spill.add(made(("g2", [row("z", "1"), row("z", "0")]), ("g1", [])))
        spill.add(made(("g0", [row("a", "1")])))
        table = spill.rows("answer_claims").read_all()
        assert [tuple(each.values()) for each in table.to_pylist()] == [
            ("a", "1", "g0"),
            ("z", "0", "g2"),
            ("z", "1", "g2"),
        ]
        assert {group: part[0].rows for group, part in spill.sums.items()} == {"g2": 2, "g1": 0, "g0": 1}
        total = sum((part[0] for part in spill.sums.values()), Sum())
        assert total.digest("answer_claims") == table_digest("answer_claims", table)
    assert not list((tmp_path / "scratch").iterdir())


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([row("a", "1"), row("a", "1")], [], "1 repeated"),
        ([row("a", "1")], [row("a", "2")], "holder a belongs to two groups"),
        ([{"holder": "a"}], [], "column identity holds 1 nulls"),
    ],
)
def test_rows_are_checked(
    first: list[dict[str, Json]], second: list[dict[str, Json]], message: str, tmp_path: Path
) -> None:
    with Spill(tmp_path, ["answer_claims"]) as spill, pytest.raises(LakeError, match=message):
        spill.add(made(("g1", first)))
        spill.add(made(("g2", second)))
    assert not list((tmp_path / "scratch").iterdir())


@pytest.mark.parametrize(
    ("rows", "values", "after"),
    [
        ([row("c", "1", "g3")], [], [("g1", "a", "1"), ("g2", "b", "1"), ("g3", "c", "1")]),
        ([row("b", "2", "g2")], ["g2"], [("g1", "a", "1"), ("g2", "b", "2")]),
        ([], ["g2"], [("g1", "a", "1")]),
        ([], ["other"], [("g1", "a", "1"), ("g2", "b", "1")]),
        ([], [], [("g1", "a", "1"), ("g2", "b", "1")]),
    ],
    ids=["in", "out and in", "out", "nothing there", "nothing"],
)
def test_rows_are_replaced_in_one_commit(
    empty: Lake, rows: list[dict[str, Json]], values: list[str], after: list[tuple[str, str, str]]
) -> None:
    put(empty, row("a", "1", "g1"), row("b", "1", "g2"))
    before = empty.store.version("answer_claims")
    given = rows_table("answer_claims", rows).to_reader() if rows else None
    version = empty.store.replace("answer_claims", given, "group_id", values, {"clawgym.inputs": "i"})
    assert version == before + 1 and held(empty) == after
    assert empty.store.commit_info("answer_claims", version)["clawgym.inputs"] == "i"


def test_log_is_never_rewritten(empty: Lake) -> None:
    with pytest.raises(LakeError, match="part of the log"):
        empty.store.replace("events", None, "stream_id", ["x"], {})


# --- claims -------------------------------------------------------------------------------------------------------


def test_first_is_who_has_the_lowest_place_among_stored_and_fresh(empty: Lake) -> None:
    put(empty, row("a", "x", "g1"), row("b", "x", "g3"), row("c", "y", "g4"), row("d", "z", "g5"))
    index = Index(empty.now(), "answer_claims", {f"g{n}": f"{n}" for n in (1, 3, 4, 5)}, {"g1", "g5"})
    index.look_up(["x", "y"])
    # g1 no longer holds x; g2 is new and stands before g3 and g4; g5 is gone
    assert index.claim(Group("g1", "1", "", 0), [("a", "w")]) == {"w": "a"}
    assert index.claim(Group("g2", "2", "", 0), [("n", "x"), ("m", "x"), ("n", "v")]) == {"x": "n", "v": "n"}
    assert index.claim(Group("g6", "6", "", 0), [("s", "y")]) == {"y": "c"}
    assert index.disturbed() == {"g3"}, "x was first held by g1 and is by g2; y stays with g4; z has no holder left"


def test_without_stored_claims_nothing_is_read_or_disturbed(empty: Lake) -> None:
    put(empty, row("a", "x", "g1"))
    index = Index(empty.now(), "answer_claims", {}, {"g1"})
    index.look_up(["x"])
    assert index.claim(Group("g9", "9", "", 0), [("z", "x")]) == {"x": "z"}
    assert index.disturbed() == set()


def test_sums_of_parts_add_up() -> None:
    rows = rows_table("answer_claims", [row("a", str(number)) for number in range(9)])
    parts = [pa.Table.from_batches(rows.slice(at, 4).to_batches()) for at in (0, 4, 8)]
    assert len({table_digest("answer_claims", part) for part in parts}) == 3
    total = sum((sum_of("answer_claims", part.to_batches()) for part in parts), Sum())
    assert total.digest("answer_claims") == table_digest("answer_claims", rows)


def test_what_was_spilled_comes_back_in_order_over_all_its_pieces(empty: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lake.spill._RUN_BYTES", 4096)
    with Spill(empty.root, ["answer_claims"]) as spill:
        for number in range(40):
            name = f"h{number * 7 % 40:02d}"
            spill.add(made((f"g{name}", [row(name, f"{place * 3 % 20:02d}") for place in range(20)])))
        runs = [run.to_pylist() for run in spill.runs("answer_claims")]
    ordered = [(one["holder"], one["identity"]) for run in runs for one in run]
    assert len(runs) > 4 and len(ordered) == 800 and ordered == sorted(ordered)
    assert all(before[-1]["holder"] < after[0]["holder"] for before, after in pairwise(runs)), "one file has all of it"
