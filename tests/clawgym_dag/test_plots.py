"""Plots of tables: one for each, from SQL that runs, drawn as Markdown that a foreign label cannot break."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import dagster as dg
import pytest

import lake
from assets.dagster_metadata import LOG_GROUP, build_metadata
from assets.dagster_plots import PLOTS, bars, draw, escaped, intervals, lines, sparkline
from lake.schema import TABLES


def test_every_table_of_a_stage_has_a_plot() -> None:
    assert set(PLOTS) == {name for name, table in TABLES.items() if table.stage != LOG_GROUP} | {"snapshots"}


@pytest.mark.parametrize("table", PLOTS)
def test_plot_of_a_filled_table_is_a_markdown_table(table: str, mini_root: Path) -> None:
    opened = lake.open(mini_root)
    drawn = draw(opened, table)
    assert drawn is not None
    title, _, body = drawn.partition("\n\n")
    assert title == f"**{PLOTS[table].title}**"
    if opened.table(table).num_rows:
        rows = body.partition("\n\n")[0].splitlines()
        assert len(rows) > 2
        assert all(row.startswith("| ") and row.endswith(" |") for row in rows)


def test_plot_of_an_empty_lake_says_so(tmp_path: Path) -> None:
    opened = lake.open(tmp_path / "lake")
    assert draw(opened, "trajectories") == "**trajectories by turns**\n\nno rows"


def test_bars_of_counts_add_up_to_the_table(mini_root: Path) -> None:
    opened = lake.open(mini_root)
    drawn = draw(opened, "attempts") or ""
    counted = [int(row.split(" | ")[1]) for row in drawn.splitlines() if "█" in row]
    assert sum(counted) == opened.table("attempts").num_rows


def test_turns_are_binned_without_loss_or_overlap(mini_root: Path) -> None:
    opened = lake.open(mini_root)
    cells = [row.strip("| ").split(" | ") for row in (draw(opened, "trajectories") or "").splitlines()[4:]]
    edges = [tuple(map(int, cell[0].split("–"))) for cell in cells]
    assert all(low <= high for low, high in edges)
    assert all(before[1] < after[0] for before, after in pairwise(edges))
    turns = opened.table("trajectories")["turns"].to_pylist()
    assert [int(cell[1]) for cell in cells] == [sum(low <= t <= high for t in turns) for low, high in edges]


def test_bar_lengths_follow_the_figures() -> None:
    drawn = bars([("a", 24), ("b", 12), ("c", 0), ("d", None)])
    assert [row.count("█") for row in drawn.splitlines()[2:]] == [24, 12, 0, 0]
    assert drawn.splitlines()[5] == "| d | — |  |"


def test_rows_beyond_the_twelfth_are_counted() -> None:
    assert bars([(i, 1) for i in range(15)]).endswith("\n\nand 3 more")


def test_interval_spans_its_bounds() -> None:
    (row,) = intervals([("strong", 0.5, 0.25, 0.75)]).splitlines()[2:]
    assert row == "| strong | 0.500 | 0.250 … 0.750 | `······──────●──────······` |"
    (bare,) = intervals([("one task", 1.0, None, None)]).splitlines()[2:]
    assert bare == "| one task | 1.000 | — | `························●` |"


def test_line_falls_as_the_loss_does() -> None:
    assert sparkline([7, 6, 5, 4, 3, 2, 1, 0]) == "█▇▆▅▄▃▂▁"
    assert sparkline([1.0, 1.0]) == "▁▁"
    assert len(sparkline(list(range(1000)))) == 24
    drawn = lines([("a", 1, 2.0), ("b", 1, 5.0), ("a", 2, 1.0)])
    assert drawn.splitlines()[2:] == ["| a | 2.000 | 1.000 | █▁ |", "| b | 5.000 | 5.000 | ▁ |"]


def test_label_of_a_stranger_stays_text() -> None:
    assert escaped("a|b\n<img src=x>`[x](y)") == "a\\|b \\<img src=x\\>\\`\\[x\\](y)"
    assert escaped(None) == "—"
    assert len(escaped("x" * 500)) == 48


def test_materialisation_carries_the_plot(mini_root: Path) -> None:
    opened = lake.open(mini_root)
    metadata = build_metadata(opened, "personas", rows=1, digest=None, skipped=True, effect={})
    assert isinstance(metadata["plot"], dg.MarkdownMetadataValue)
    assert metadata["plot"].value == draw(opened, "personas")
