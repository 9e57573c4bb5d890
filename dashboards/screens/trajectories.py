"""Trajectories: find one by filters or by any id, and read it from its first message to its verdict.

Belongs here: the list and which run is open. The panels of a run are `run_panels.py`.
"""

from __future__ import annotations

import streamlit as st

from dashboards.connection import Row, rows
from dashboards.filters import PAGE, page_key, page_number, pages, said, several
from dashboards.plain import escape, number
from dashboards.run_panels import PANELS

SORTS = (
    "newest", "lowest score", "highest score", "most turns", "most tool calls", "most tool errors", "most tokens",
)  # fmt: skip


# Of the list. A column that says nothing of any trajectory that fits the filters is left out. (No docstring:
# Streamlit shows a bare string of a page's script.)
COLUMNS = (
    "label", "model", "policy", "score_code", "checks", "class", "ending", "turns", "tool_calls", "tool_errors",
    "started_at", "text_tokens", "sft_reason", "trajectory_id",
)  # fmt: skip


def ids_of(found: list[Row]) -> list[str]:
    """Ids of the rows shown."""
    return [row["trajectory_id"] for row in found]


def filters() -> dict[str, object]:
    """The filter widgets, as parameters of the list."""
    choices = rows("trajectories/choices")
    first = st.columns([2, 2, 2, 2])
    second = st.columns([2, 2, 2, 2, 2])
    with first[0]:
        policies = several("Policy", choices, "policy", "t_policy")
    with first[1]:
        families = several("Task family", choices, "family", "t_family")
    with first[2]:
        endings = several("Ending", choices, "ending", "t_ending")
    with first[3]:
        decisions = several("Training filter", choices, "sft_reason", "t_decision")
    with second[0]:
        classes = several("Class", choices, "class", "t_class")
    with second[1]:
        models = several("Model", choices, "model", "t_model")
    low, high = second[2].slider("Code score", 0.0, 1.0, (0.0, 1.0), step=0.05, key="t_score")
    sort = second[3].selectbox("Sort", SORTS, key="t_sort")
    text = second[4].text_input("Id contains", key="t_text", placeholder="task, session, attempt …")
    return {
        "policies": policies, "models": models, "families": families, "endings": endings,
        "decisions": decisions, "classes": classes,
        "score_low": low, "score_high": high, "unscored": (low, high) == (0.0, 1.0), "sort": sort, "text": text.strip(),
    }  # fmt: skip


def listing() -> None:
    """The list, a page at a time; choosing a line opens it."""
    chosen = filters()
    turning = page_key("t_page", chosen)
    page = page_number(turning)
    found = rows("trajectories/list", **chosen, limit=PAGE, offset=(page - 1) * PAGE)
    if not found:
        st.caption("n = 0 trajectories fit these filters.")
        return
    total = found[0]["total"]
    st.caption(f"{said(total, len(found), page, 'trajectories')}. Choose a line to open it.")
    labels = {row["trajectory_id"]: row["label"] for row in rows("trajectories/labels", ids=ids_of(found))}
    event = st.dataframe(
        [{**row, "label": labels[row["trajectory_id"]]} for row in found],
        hide_index=True,
        height=560 if len(found) > 15 else "content",
        on_select="rerun",
        selection_mode="single-row",
        key=f"t_list_{page}",
        column_order=[name for name in COLUMNS if found[0]["told"].get(name, True)],
        column_config={
            "score_code": st.column_config.ProgressColumn("code score", min_value=0, max_value=1, format="%.2f"),
            "text_tokens": st.column_config.NumberColumn("tokens (est.)", format="localized"),
            "sft_reason": "training filter",
            "tool_calls": "calls",
            "tool_errors": "errors",
            "started_at": st.column_config.DatetimeColumn("started", format="YYYY-MM-DD HH:mm:ss"),
        },
    )  # fmt: skip
    pages(total, turning)
    if event.selection.rows:
        st.query_params["id"] = found[event.selection.rows[0]]["trajectory_id"]
        st.rerun()


def heading(run: Row) -> None:
    """What this run is, on a few lines."""
    st.subheader(escape(run["label"]))
    badges = [
        f":blue-badge[{escape(run['policy'])}]",
        f":gray-badge[{escape(run['class'])}]",
    ]
    if run["attempt_id"] is None:
        badges.insert(1, f":blue-badge[{escape(run['model'] or 'unknown model')}]")
    if run["ending"]:
        badges.append(f":gray-badge[ended: {escape(run['ending'])}]")
    if run["verdict_status"]:
        badges.append(f":gray-badge[verdict: {escape(run['verdict_status'])}]")
    if run["sft_decision"]:
        color = "green" if run["sft_decision"] == "kept" else "orange"
        badges.append(f":{color}-badge[training: {escape(run['sft_reason'])}]")
    if run["secrets_masked"]:
        badges.append(f":violet-badge[{run['secrets_masked']} secrets masked]")
    st.markdown(" ".join(badges))
    checks = None if run["checks_total"] is None else f"{run['checks_passed']} of {run['checks_total']} checks"
    figures = (
        ("Code score", number(run["score_code"], 3), checks or "no verdict"),
        ("Turns", f"{run['turns']:,}", f"{run['tool_types']} kinds of tool"),
        ("Tool calls", f"{run['tool_calls']:,}", f"{run['tool_errors']} failed"),
        ("Tokens (est.)", f"{run['text_tokens']:,}", "characters / 4"),
        ("Tokens in", number(run["input_tokens"]), "stated, over all calls"),
        ("Duration", "–" if run["duration_s"] is None else f"{run['duration_s']:.1f} s", "wall time"),
    )
    for column, (label, value, note) in zip(st.columns(len(figures)), figures, strict=True):
        column.metric(label, value)
        column.caption(note)
    if run["ending_detail"]:
        st.caption(f"Ending: {escape(run['ending_detail'])}")
    st.caption(
        f"trajectory {escape(run['trajectory_id'])} · attempt {escape(run['attempt_id'] or '–')} · "
        f"session {escape(run['session_id'])}"
    )


def one(asked: str) -> None:
    """One run."""
    if st.button("All trajectories", icon=":material/arrow_back:"):
        st.query_params.clear()
        st.rerun()
    ids = rows("trajectories/find", id=asked)
    if not ids:
        st.warning(f"Nothing here is called {escape(asked)}.")
        return
    run = rows("trajectories/one", trajectory_id=ids[0]["trajectory_id"])[0]
    heading(run)
    if run["task_id"]:
        st.page_link("screens/tasks.py", label="Its task", icon=":material/task:", query_params={"id": run["task_id"]})
    chosen = st.segmented_control(
        "Panel", list(PANELS), default="Messages", key="panel", label_visibility="collapsed", required=True
    )
    PANELS[chosen or "Messages"](run)


def page() -> None:
    """The page."""
    st.title("Trajectories")
    asked = st.query_params.get("id")
    if asked:
        one(asked)
    elif not rows("trajectories/choices"):
        st.info("Nothing here yet: run `make demo`, or bring your own logs with `clawgym lake ingest ~/.openclaw`.")
    else:
        listing()


page()
