"""Charts: one calm style, always with intervals and n where there is a mean.

Belongs here: Altair charts made from rows. Does not belong here: queries, layout.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from dashboards.connection import Row

INK = "#334155"
BLUE = "#2563a8"
TEAL = "#0f8b8d"
AMBER = "#c77d1e"
ROSE = "#b4465a"
PALETTE = (BLUE, TEAL, AMBER, ROSE, "#6b5ca5", "#5f7c3a", "#8a6d5c", "#7a8794")
BAR_HEIGHT = 30
"""Pixels a category takes."""
AXIS_HEIGHT = 64
"""Pixels of the axis below with its title."""
LEGEND_HEIGHT = 78
"""Pixels of a legend above."""


def _height(count: int, *, legend: bool = False) -> int:
    return BAR_HEIGHT * max(count, 1) + AXIS_HEIGHT + (LEGEND_HEIGHT if legend else 0)


def intervals(
    rows: Sequence[Row],
    *,
    label: str,
    title: str,
    color: str = BLUE,
    scale: alt.Scale | None = None,
    number: str = ".3f",
) -> alt.LayerChart:
    """Means as points on their 95 % interval, one line a row.

    Args:
        rows: with `mean`, `low`, `high`, `n` and `label`; rows without a mean are left out.
        label: what names a line.
        title: of the axis.
        color: of points and intervals.
        scale: of the axis; 0 to 1 where not given.
        number: format of figures in tooltips.
    """
    named = [{**row, "named": f"{row[label]}  (n = {row['n']:,})"} for row in rows if row["mean"] is not None]
    axis_scale = scale or alt.Scale(domain=[0, 1])
    axis = alt.X("mean:Q", title=title, scale=axis_scale)
    tips = [alt.Tooltip("named:N", title=label.replace("_", " "))]
    tips += [alt.Tooltip(f"{name}:Q", format=number) for name in ("mean", "low", "high")]
    place = alt.Y("named:N", sort=[row["named"] for row in named], title=None, axis=alt.Axis(labelLimit=360))
    spread = [row for row in named if row["low"] is not None]
    rule = (
        alt.Chart(alt.InlineData(values=spread))
        .mark_rule(color=color, strokeWidth=4, opacity=0.35)
        .encode(y=place, x=alt.X("low:Q", title=title, scale=axis_scale), x2="high:Q", tooltip=tips)
    )
    point = (
        alt.Chart(alt.InlineData(values=named))
        .mark_point(color=color, filled=True, size=95, opacity=1)
        .encode(y=place, x=axis, tooltip=tips)
    )
    return alt.LayerChart(layer=[rule, point]).properties(height=_height(len(named)))


def beside_paper(rows: Sequence[Row], title: str) -> alt.LayerChart:
    """Our means on their intervals, and the paper's mean as a dashed line, for one measure."""
    top = max([row["high"] or row["mean"] for row in rows] + [rows[0]["paper_mean"]])
    scale = alt.Scale(domain=[0, top * 1.08])
    short = [{**row, "population": row["population"].split()[0]} for row in rows]
    chart = intervals(short, label="population", title=title, scale=scale, number=",.2f")
    paper = alt.InlineData(values=[{"paper": rows[0]["paper_mean"], "what": rows[0]["paper_source"]}])
    line = (
        alt.Chart(paper)
        .mark_rule(color=AMBER, strokeDash=[5, 4], strokeWidth=2)
        .encode(
            x=alt.X("paper:Q", scale=scale, title=title),
            tooltip=[alt.Tooltip("paper:Q", format=",.2f"), alt.Tooltip("what:N", title="source")],
        )
    )
    return alt.LayerChart(layer=[*chart.layer, line]).properties(height=_height(len(rows)))


def histogram(rows: Sequence[Row], title: str, color: str = BLUE) -> alt.Chart:
    """Bars from `bar_low`, `width` and `n`."""
    data = alt.InlineData(values=[{**row, "bar_high": row["bar_low"] + row["width"]} for row in rows])
    chart: alt.Chart = (
        alt.Chart(data, height=190)
        .mark_bar(color=color, opacity=0.85, stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("bar_low:Q", title=title, bin="binned"),
            x2="bar_high:Q",
            y=alt.Y("n:Q", title="trajectories"),
            tooltip=[alt.Tooltip("bar_low:Q", title="from"), alt.Tooltip("bar_high:Q", title="to"), alt.Tooltip("n:Q")],
        )
    )
    return chart


def stacked(rows: Sequence[Row], *, y: str, share: str, part: str, order: Sequence[str], count: str) -> alt.Chart:
    """Shares of a whole, one bar a `y`."""
    named = [{**row, "named": f"{row[y]}  (n = {row[count]:,})"} for row in rows]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=named), height=_height(len({row[y] for row in rows}), legend=True))
        .mark_bar(height={"band": 0.72})
        .encode(
            y=alt.Y("named:N", title=None, axis=alt.Axis(labelLimit=340)),
            x=alt.X(
                f"{share}:Q", title="share of tool calls", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
            ),
            color=alt.Color(
                f"{part}:N",
                scale=alt.Scale(domain=list(order), range=list(PALETTE[: len(order)])),
                title=None,
                legend=alt.Legend(orient="top", columns=4),
            ),
            order=alt.Order("position:Q"),
            tooltip=[alt.Tooltip(f"{part}:N"), alt.Tooltip("calls:Q"), alt.Tooltip(f"{share}:Q", format=".1%")],
        )
    )
    return chart


def bars(rows: Sequence[Row], *, y: str, x: str, title: str, color: str | None = None) -> alt.Chart:
    """Horizontal bars of counts, longest first as given."""
    paint = (
        alt.Color(f"{color}:N", scale=alt.Scale(range=[BLUE, AMBER, ROSE]), title=None, legend=alt.Legend(orient="top"))
        if color
        else alt.value(BLUE)
    )
    chart: alt.Chart = (
        alt.Chart(
            alt.InlineData(values=list(rows)), height=_height(len({row[y] for row in rows}), legend=color is not None)
        )
        .mark_bar(opacity=0.85, height={"band": 0.72})
        .encode(
            y=alt.Y(f"{y}:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)),
            x=alt.X(f"{x}:Q", title=title),
            color=paint,
            tooltip=[alt.Tooltip(f"{y}:N"), alt.Tooltip(f"{x}:Q"), *([alt.Tooltip(f"{color}:N")] if color else [])],
        )
    )
    return chart


def line(rows: Sequence[Row], *, x: str, y: str, color: str) -> alt.Chart:
    """A line for each `color` over `x`."""
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=list(rows)), height=240)
        .mark_line(point={"size": 24}, strokeWidth=2)
        .encode(
            x=alt.X(f"{x}:Q", title=x),
            y=alt.Y(f"{y}:Q", title=y, scale=alt.Scale(zero=False)),
            color=alt.Color(
                f"{color}:N", scale=alt.Scale(range=list(PALETTE)), title=None, legend=alt.Legend(orient="top")
            ),
            tooltip=[alt.Tooltip(f"{color}:N"), alt.Tooltip(f"{x}:Q"), alt.Tooltip(f"{y}:Q", format=".4f")],
        )
    )
    return chart
