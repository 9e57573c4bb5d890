"""A small plot of each table, drawn in Markdown from one query, shown with every materialisation.

Belongs here: which figures of a table are worth a glance, and bars, intervals and lines as text. Does not belong here:
the pages (`dashboards`), or any figure that is reported elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Literal

from lake import Lake

Row = Sequence[Any]
"""Label and figures, as the query gives them."""

_WIDTH: Final = 24
"""Characters of a full bar."""
_ROWS: Final = 12
_LABEL: Final = 48
_NULL: Final = "—"
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_ACTIVE = re.compile(r"([\\`*_\[\]<>|#~&])")


@dataclass(frozen=True)
class Plot:
    """What is drawn of a table.

    `bars`: rows of (label, value). `intervals`: rows of (label, mean, low, high), all in 0 … 1.
    `line`: rows of (label, x, y) in the order of x, a line for each label.
    """

    title: str
    query: str
    kind: Literal["bars", "intervals", "line"] = "bars"


def counts(table: str, by: str, title: str) -> Plot:
    """Bars of rows by an expression, most first."""
    query = f"select {by} as label, count(*) from {table} group by all order by count(*) desc, label"  # noqa: S608 - ours
    return Plot(title, query)


PLOTS: Final[dict[str, Plot]] = {
    "raw_records": counts("raw_records", "source_kind", "records by kind of source"),
    "snapshots": counts("snapshots", "reason", "snapshots by reason"),
    "personas": counts("personas", "domain", "personas by domain"),
    "skills": counts("skills", "status", "skills by status"),
    "tasks": counts("tasks", "bench_category", "tasks by category"),
    "workspaces": counts("workspaces", "format", "files by format"),
    "audits": Plot(
        "mean score by kind of probe",
        "select regexp_replace(probe, '^(mutant:[^:]*):.*', '\\1') as kind, avg(score_code) as mean from audits"
        " group by all order by mean desc nulls last, kind",
    ),
    "task_status": counts("task_status", "concat_ws(', ', status, split)", "tasks by status and split"),
    "attempts": counts(
        "attempts", "concat_ws(', ', purpose, coalesce(ending, state))", "attempts by purpose and ending"
    ),
    "final_files": counts("final_files", "change", "files by change"),
    "sources": counts("sources", "source_kind", "sources by kind"),
    "sessions": counts("sessions", "kind", "sessions by what they are for"),
    "trajectories": Plot(
        "trajectories by turns",
        "with bins as (select greatest(1, ceil((max(turns) + 1) / 12.0))::int as width from trajectories)"
        " select concat(turns // width * width, if(width > 1, concat('–', turns // width * width + width - 1), '')),"
        " count(*)"
        " from trajectories, bins group by turns // width, width order by turns // width",
    ),
    "steps": counts("steps", "role", "messages by role"),
    "tool_calls": counts("tool_calls", "tool", "calls by tool"),
    "diagnostics": counts("diagnostics", "concat_ws(' → ', rule, action)", "findings by rule and action"),
    "ledger": Plot(
        "records by disposition",
        "select disposition, sum(records)::bigint as n from ledger group by all order by n desc, disposition",
    ),
    "samples": counts("samples", "kind", "samples by kind"),
    "cleaning_rules": counts("cleaning_rules", "action", "rules by action"),
    "trajectory_groups": counts(
        "trajectory_groups", "if(starts_with(place, '0/'), 'attempt', 'session of others')", "groups by kind"
    ),
    "answer_claims": counts(
        "(select count(*) as n from answer_claims group by identity)",
        "concat(n, if(n = 1, ' group', ' groups'))",
        "answers by number of groups that hold them",
    ),
    "verdicts": Plot(
        "latest verdicts by score",
        "select case when score_code is null then status else printf('%.1f–%.1f', b / 10.0, (b + 1) / 10.0) end,"
        " count(*) from (select *, least(9, floor(score_code * 10)::int) as b from verdicts where is_latest)"
        " group by all order by min(b) nulls last, 1",
    ),
    "sft_examples": counts("sft_examples", "concat_ws(', ', split, policy)", "examples by split and policy"),
    "sft_decisions": counts("sft_decisions", "concat_ws(': ', decision, reason)", "trajectories by decision"),
    "checkpoints": Plot(
        "last loss of the latest checkpoints",
        "select left(checkpoint_id, 8), loss_last from checkpoints order by created_at desc, 1 limit 12",
    ),
    "training_metrics": Plot(
        "loss by step",
        "select left(checkpoint_id, 8), step, value from training_metrics where metric = 'loss' order by 1, 2",
        "line",
    ),
    "bench_comparisons": Plot(
        "tasks that changed side by pair of runs",
        "select concat(first_policy, ' → ', second_policy), len(gained) + len(lost) as n from bench_comparisons"
        " order by n desc, first_policy, second_policy, first_run_id, second_run_id",
    ),
    "bench_scores": Plot(
        "score of whole suites, 95 % interval over tasks",
        "select concat_ws(' · ', suite, policy_kind, policy), mean, low, high from bench_scores"
        " where scope = 'suite' order by suite, policy_kind = 'scripted', mean desc nulls last, policy, bench_run_id",
        "intervals",
    ),
}
"""Table to its plot."""


def draw(lake: Lake, table: str) -> str | None:
    """The plot of a table as Markdown; None for a table that has none."""
    plot = PLOTS.get(table)
    if plot is None:
        return None
    rows = lake.sql(plot.query).fetchall()
    if not rows:
        return f"**{plot.title}**\n\nno rows"
    drawn = {"bars": bars, "intervals": intervals, "line": lines}[plot.kind](rows)
    return f"**{plot.title}**\n\n{drawn}"


def bars(rows: Sequence[Row]) -> str:
    """A bar a row, its length relative to the greatest; rows beyond the twelfth are counted, not drawn."""
    top = max((abs(value) for _, value in rows if value is not None), default=0)
    cells = [
        (escaped(label), number(value), "█" * round(_WIDTH * (value or 0) / top) if top else "")
        for label, value in rows[:_ROWS]
    ]
    return _table(("", "", ""), cells, len(rows))


def intervals(rows: Sequence[Row]) -> str:
    """A mean in its interval a row, on a scale from 0 to 1."""
    cells = []
    for label, mean, low, high in rows[:_ROWS]:
        track = ["·"] * (_WIDTH + 1)
        if low is not None and high is not None:
            for at in range(_at(low), _at(high) + 1):
                track[at] = "─"
        if mean is not None:
            track[_at(mean)] = "●"
        between = f"{low:.3f} … {high:.3f}" if low is not None and high is not None else _NULL
        cells.append((escaped(label), number(mean), between, f"`{''.join(track)}`"))
    return _table(("", "mean", "95 %", "0 … 1"), cells, len(rows))


def lines(rows: Sequence[Row]) -> str:
    """A line a label: figures averaged into at most twenty-four characters, between its own least and greatest."""
    series: dict[Any, list[float]] = {}
    for label, _, value in rows:
        series.setdefault(label, []).append(value)
    cells = [
        (escaped(label), number(values[0]), number(values[-1]), sparkline(values))
        for label, values in list(series.items())[:_ROWS]
    ]
    return _table(("", "first", "last", ""), cells, len(series))


def sparkline(values: Sequence[float]) -> str:
    """Figures as blocks of eight heights."""
    width = min(_WIDTH, len(values))
    edges = [len(values) * i // width for i in range(width + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    least, span = min(means), (max(means) - min(means)) or 1.0
    return "".join(_LEVELS[min(7, int(8 * (mean - least) / span))] for mean in means)


def number(value: int | float | None) -> str:
    """A count as it is, a measure with three decimals."""
    if value is None:
        return _NULL
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def escaped(label: object) -> str:
    """A label as text: one line, cut, and nothing in it is Markdown (tool names of foreign logs come by here)."""
    text = " ".join(str(_NULL if label is None or label == "" else label).split())
    cut = text if len(text) <= _LABEL else text[: _LABEL - 1] + "…"
    return _ACTIVE.sub(r"\\\1", cut)


def _at(share: float) -> int:
    return round(_WIDTH * min(1.0, max(0.0, share)))


def _table(heads: Sequence[str], cells: Sequence[Sequence[str]], total: int) -> str:
    aligned = ["---", *("---:" for _ in heads[1:-1]), "---"]
    rows = [f"| {' | '.join(row)} |" for row in (heads, aligned, *cells)]
    more = f"\n\nand {total - len(cells)} more" if total > len(cells) else ""
    return "\n".join(rows) + more
