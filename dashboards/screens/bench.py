"""Bench: scores on held-out suites with intervals and n, models and scripted teachers in tables of their own.

Belongs here: layout. The scores are the table `bench_scores`.
"""

from __future__ import annotations

import streamlit as st

from dashboards import figures
from dashboards.connection import Row, rows
from dashboards.filters import PAGE, page_key, page_number, pages, said
from dashboards.plain import escape, interval, number


def table(found: list[Row]) -> None:
    """One line a run."""
    st.dataframe(
        [
            {
                "policy": row["policy"],
                "mean (95 % interval)": interval(row),
                "of": row["score_column"],
                "n": row["n"],
                "without a score": row["n_null"],
                "tasks": row["tasks"],
                "k": row["k"],
                "pass@1": number(row["pass_at_1"], 3),
                f"pass^{row['k']}" if len({r["k"] for r in found}) == 1 else "pass^k": number(row["pass_hat_k"], 3),
                "valid calls": number(row["valid_call_rate"], 3),
            }
            for row in found
        ],
        hide_index=True,
    )
    for label in sorted({row["label"] for row in found}):
        st.caption(escape(f"{', '.join(row['policy'] for row in found if row['label'] == label)}: {label}."))


def comparison(title: str, pairs: list[Row]) -> None:
    """Two runs of one kind of policies, task by task: the difference with its interval, and tasks that changed side."""
    st.subheader("Two runs compared")
    if not pairs:
        st.caption("n = 0 pairs: it takes two runs of this suite version by the same score.")
        return
    at = st.selectbox(
        "Runs",
        range(len(pairs)),
        format_func=lambda i: "{first_policy} ({first_run_id:.8}) → {second_policy} ({second_run_id:.8})".format_map(
            pairs[i]
        ),
        key=f"b_pair_{title}",
    )
    pair = pairs[at]
    for column, (label, value) in zip(
        st.columns([3, 5, 3, 4, 3]),
        (
            ("Second minus first", signed(pair["difference"])),
            ("95 % interval", f"{signed(pair['low'])} to {signed(pair['high'])}" if pair["low"] is not None else "–"),
            ("p (sign flips)", number(pair["p_value"], 3)),
            ("Better · worse · equal", f"{pair['better']} · {pair['worse']} · {pair['equal']}"),
            ("Gained · lost", f"{len(pair['gained'])} · {len(pair['lost'])}"),
        ),
        strict=True,
    ):
        column.metric(label, value)
    st.caption(
        f"Mean {escape(pair['score_column'])} over n = {pair['tasks']} tasks that both runs have a score for: "
        f"{number(pair['first_mean'], 3)}, then {number(pair['second_mean'], 3)}. The 95 % interval is a paired "
        "bootstrap over tasks. Gained and lost are tasks that only one of the two passes in most attempts."
    )
    flips = rows("bench/flips", first_run_id=pair["first_run_id"], second_run_id=pair["second_run_id"])
    if flips:
        st.dataframe(flips, hide_index=True)
    else:
        st.caption("n = 0 tasks changed side.")


def signed(value: float | None) -> str:
    """A difference with its sign; a dash where there is none."""
    return "–" if value is None else f"{value:+.3f}"


def group(title: str, note: str, found: list[Row], categories: list[Row], pairs: list[Row], color: str) -> None:
    """One kind of policies: table, suite interval, categories, two runs compared."""
    st.header(title)
    st.caption(note)
    if not found:
        st.caption("n = 0 runs.")
        return
    table(found)
    mine = [row for row in categories if row["bench_run_id"] in {run["bench_run_id"] for run in found}]
    left, right = st.columns([2, 3])
    with left:
        st.subheader("Whole suite")
        st.altair_chart(figures.intervals(found, label="policy", title="mean score", color=color))
    with right:
        st.subheader("By category")
        names = sorted({row["scope_value"] for row in mine})
        shown = st.selectbox("Policy", sorted({row["policy"] for row in mine}), key=f"b_{title}") if names else None
        of_policy = [row for row in mine if row["policy"] == shown]
        if of_policy:
            st.altair_chart(figures.intervals(of_policy, label="scope_value", title="mean score", color=color))
    comparison(title, pairs)


def task_scores(found: list[Row]) -> None:
    """The tasks of one run, lowest first."""
    st.header("Task by task")
    by_id = {row["bench_run_id"]: row for row in found}
    run = st.selectbox("Run", list(by_id), format_func=lambda i: f"{by_id[i]['policy']} ({i})", key="b_run")
    turning = page_key("b_page", run)
    page = page_number(turning)
    lines = rows("bench/tasks", bench_run_id=run, limit=PAGE, offset=(page - 1) * PAGE)
    if not lines:
        st.caption("n = 0 tasks.")
        return
    total = lines[0]["total"]
    st.caption(f"{said(total, len(lines), page, 'tasks')}, lowest first.")
    st.dataframe(
        [{key: value for key, value in row.items() if key != "total"} for row in lines],
        hide_index=True,
        column_config={"mean": st.column_config.ProgressColumn("mean", min_value=0, max_value=1, format="%.2f")},
    )
    pages(total, turning)


def page() -> None:
    """The page."""
    st.title("Bench")
    found = rows("bench/runs")
    if not found:
        st.info("Nothing here yet: run `make demo`, or `clawgym bench run`.")
        return
    suites = sorted({(row["suite"], row["suite_version"]) for row in found})
    suite, version = st.selectbox(
        "Suite", suites, format_func=lambda pair: f"{pair[0]} (version {pair[1]})", key="b_suite"
    )
    of_suite = [row for row in found if (row["suite"], row["suite_version"]) == (suite, version)]
    categories = rows("bench/categories", suite=suite, suite_version=version)
    pairs = rows("bench/comparisons", suite=suite, suite_version=version)
    st.caption(
        f"Suite {escape(suite)}: n = {max(row['tasks'] for row in of_suite):,} tasks. "
        "Intervals are 95 %, by bootstrap over tasks. Attempts that infrastructure, verifier or judge left without a "
        "score are counted beside the mean, not in it."
    )
    group(
        "Models",
        "Policies that are language models.",
        [row for row in of_suite if row["policy_kind"] != "scripted"],
        categories,
        [pair for pair in pairs if not pair["scripted"]],
        figures.BLUE,
    )
    group(
        "Scripted teachers",
        "They follow plans written with the tasks: their scores check the harness and are not comparable with models'.",
        [row for row in of_suite if row["policy_kind"] == "scripted"],
        categories,
        [pair for pair in pairs if pair["scripted"]],
        figures.TEAL,
    )
    task_scores(of_suite)


page()
