"""Overview: the funnel, what trajectories look like beside the paper's, how policies behave, what cleaning did.

Belongs here: layout and words. The figures are the views and metrics of `sql/`.
"""

from __future__ import annotations

import streamlit as st

from dashboards import figures
from dashboards.connection import Row, rows, view
from dashboards.plain import escape, interval, number, share, size

PHASES = ("explore", "read", "write", "edit", "run", "check", "other")
MEASURES = {
    "turns": "assistant turns",
    "tool_calls": "tool calls",
    "text_tokens": "tokens (characters / 4)",
    "tool_errors": "tool errors",
    "score": "code score",
}
INTERVAL_NOTE = "Bars are 95 % intervals of the mean (normal approximation)."


def attempted(found: list[Row]) -> bool:
    """Whether the loop has run at all, or the lake holds no more than logs and what tasks need."""
    return any(row["stage"] == "attempts" and row["n"] for row in found)


def logs() -> None:
    """Sessions, models and errors, for a lake of external logs."""
    found = rows("metrics/logs")
    tiles = (
        ("Sessions", f"{sum(row['sessions'] for row in found):,}"),
        ("Models", f"{len(found):,}"),
        ("Tool calls", f"{sum(row['tool_calls'] for row in found):,}"),
        ("Tool errors", f"{sum(row['tool_errors'] for row in found):,}"),
    )
    for column, (label, value) in zip(st.columns(4), tiles, strict=True):
        column.metric(label, value, border=True)
    st.dataframe(
        found,
        hide_index=True,
        column_config={
            "tool_calls": "calls",
            "tool_errors": "errors",
            "not_normal": "ended otherwise than normal",
            "newest": st.column_config.DatetimeColumn("newest", format="YYYY-MM-DD HH:mm:ss"),
        },
    )


def funnel(found: list[Row]) -> None:
    """Tiles from personas to bench; stages with nothing are left out where there is no attempt yet."""
    shown = [row for row in found if row["n"] or attempted(found)] or found
    for start in range(0, len(shown), 5):
        for column, row in zip(st.columns(5), shown[start : start + 5], strict=False):
            with column.container(border=True, height="stretch"):
                st.metric(row["label"][:1].upper() + row["label"][1:], f"{row['n']:,}")
                st.caption(escape(row["detail"]) or "in the lake")


def statistics() -> None:
    """Our four figures with n and interval, beside the paper's."""
    found = view("trajectory_statistics")
    by_measure = {row["measure"]: [r for r in found if r["measure"] == row["measure"]] for row in found}
    st.header("Trajectories beside the paper's")
    st.caption(
        "The paper's means are over its own 24.5K kept trajectories (arXiv 2604.26904), by other teachers, on other "
        f"tasks and with another tokenizer: a yardstick, not a target. {INTERVAL_NOTE}"
    )
    st.dataframe(
        [
            {
                "measure": row["label"],
                "population": row["population"],
                "n": row["n"],
                "our mean (95 % interval)": interval(row, 2),
                "median": row["median"],
                "p90": row["p90"],
                "paper's mean": row["paper_mean"],
            }
            for mine in by_measure.values()
            for row in mine
        ],
        hide_index=True,
        column_config={
            name: st.column_config.NumberColumn(format="%.2f") for name in ("median", "p90", "paper's mean")
        },
    )
    for column, measure in zip(st.columns(4), by_measure, strict=False):
        column.altair_chart(figures.beside_paper(by_measure[measure], MEASURES.get(measure, "distinct tools")))
    ours = {row["population"]: row["policies"] for row in found}
    st.caption("Dashed: the paper's mean. " + " ".join(f"{escape(k)}: {escape(v)}." for k, v in ours.items()))


def distributions() -> None:
    """Histograms over all trajectories."""
    found = rows("metrics/distributions")
    st.header("Distributions")
    measures = [measure for measure in MEASURES if any(row["measure"] == measure for row in found)]
    for start in range(0, len(measures), 3):
        for column, measure in zip(st.columns(3), measures[start : start + 3], strict=False):
            mine = [row for row in found if row["measure"] == measure]
            column.altair_chart(figures.histogram(mine, f"{MEASURES[measure]} (n = {mine[0]['measure_n']:,})"))


def scores() -> None:
    """Scores of teachers and of models, never in one table."""
    found = rows("metrics/scores")
    if not found:
        return
    st.header("Scores of counted attempts")
    st.caption(
        "Code score on the frozen final workspace. Collection and bench are different tasks. A scripted teacher "
        "follows a plan written with the task: its score says that the harness works and nothing about a model."
    )
    left, right = st.columns(2)
    for column, title, mine in (
        (left, "Models", [row for row in found if row["policy_kind"] != "scripted"]),
        (right, "Scripted teachers", [row for row in found if row["policy_kind"] == "scripted"]),
    ):
        with column:
            st.subheader(title)
            if not any(row["n"] for row in mine):
                st.caption("None scored yet.")
                continue
            named = [{**row, "who": f"{row['policy']} · {row['purpose']}"} for row in mine]
            color = figures.BLUE if title == "Models" else figures.TEAL
            st.altair_chart(figures.intervals(named, label="who", title="mean code score", color=color))
            missing = sum(row["n_null"] for row in mine)
            st.caption(f"Out of the means for want of a score: n = {missing:,} attempts. {INTERVAL_NOTE}")


def behaviour() -> None:
    """How policies work, tool by tool and phase by phase."""
    found = view("behaviour")
    if not found:
        return
    st.header("How policies work")
    st.dataframe(
        [
            {
                "policy": row["policy"],
                "trajectories": row["trajectories"],
                "failed calls": share(row["errors"], row["answered"]),
                "recovered": share(row["recovered"], row["failures_with_target"]),
                "went on": share(row["went_on"], row["errors"]),
                "messages to recover (mean)": number(row["mean_steps_to_recover"], 1),
                "products looked at after writing": share(row["verified"], row["written"]),
                "calls repeated at once": share(row["repeated"], row["calls"]),
            }
            for row in found
        ],
        hide_index=True,
    )
    st.caption(
        "Recovered: a later call on the same target succeeded. Went on: a later call of the same tool did. Looked at: "
        "a successful read, or a command naming the file, after its last write. Repeated at once: byte-equal to the "
        "call before. Definitions of our own."
    )
    left, right = st.columns(2)
    mix = [
        {**row, "position": PHASES.index(row["phase"]) if row["phase"] in PHASES else 9} for row in view("phase_mix")
    ]
    if mix:
        with left:
            st.subheader("What calls are for")
            st.altair_chart(
                figures.stacked(mix, y="policy", share="share", part="phase", order=PHASES, count="policy_calls")
            )
    tools = [
        {"tool": r["tool"], "mean": r["error_rate"], "low": r["error_low"], "high": r["error_high"], "n": r["answered"]}
        for r in view("tool_statistics")
    ]
    if tools:
        with right:
            st.subheader("Error rate per tool")
            st.altair_chart(figures.intervals(tools, label="tool", title="error rate", color=figures.ROSE))
            st.caption("n: answered calls. Bars are Wilson 95 % intervals.")


def what_became_of_them(loop: bool) -> None:
    """Endings, filter decisions, the ledger and the training loss.

    Args:
        loop: whether there are attempts, so that no training run yet is worth a line.
    """
    st.header("What became of them")
    left, right = st.columns(2)
    endings, decisions = rows("metrics/endings"), rows("metrics/decisions")
    if endings:
        with left:
            st.subheader("Endings of attempts")
            st.altair_chart(
                figures.bars(
                    endings,
                    y="ending",
                    x="n",
                    title=f"attempts (n = {sum(r['n'] for r in endings):,})",
                    color="ending_kind",
                )
            )
    if decisions:
        with right:
            st.subheader("Decisions of the training filter")
            st.altair_chart(
                figures.bars(
                    decisions,
                    y="reason",
                    x="n",
                    title=f"trajectories (n = {decisions[0]['total']:,})",
                    color="decision",
                )
            )
    training, ledger = rows("metrics/training"), rows("metrics/ledger")
    with left:
        if training or loop:
            st.subheader("Training loss")
        if training:
            st.altair_chart(figures.line(training, x="step", y="loss", color="checkpoint_id"))
            st.caption(f"n = {max(row['examples'] for row in training):,} training rows.")
        elif loop:
            st.caption("No training run yet.")
    with right if loop else left:
        st.subheader("Where every raw record went")
        st.dataframe(
            ledger,
            hide_index=True,
            column_order=("source_kind", "raw_records", "kept", "dropped", "quarantined", "unaccounted"),
            column_config={"source_kind": "source", "raw_records": "records"},
        )
        lost = sum(row["unaccounted"] for row in ledger)
        total = sum(row["raw_records"] for row in ledger)
        held = size(sum(row["bytes"] for row in ledger))
        st.caption(
            f"{lost:,} of {total:,} raw records ({held}) are unaccounted for." if ledger else "No raw records yet."
        )


def page() -> None:
    """The page."""
    st.title("ClawGym lakehouse")
    st.caption(
        "From personas and skills to tasks, runs of the real agent, verdicts, training rows, a checkpoint and scores."
    )
    found = view("funnel")
    if not attempted(found) and any(row["stage"] == "trajectories" and row["n"] for row in found):
        logs()
    funnel(found)
    if not any(row["n"] for row in found):
        st.info("Nothing here yet: run `make demo`, or bring your own logs with `clawgym lake ingest ~/.openclaw`.")
        return
    if any(row["stage"] == "trajectories" and row["n"] for row in found):
        statistics()
        distributions()
    scores()
    behaviour()
    what_became_of_them(attempted(found))


page()
