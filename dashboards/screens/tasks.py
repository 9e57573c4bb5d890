"""Tasks: what the agent is told and given, how it is checked, what the audit found, how attempts came out.

Belongs here: the list, one task, and the form for a review. Acceptance itself is decided by audits.
"""

from __future__ import annotations

import json

import streamlit as st

from dashboards import reviews
from dashboards.connection import Row, rows
from dashboards.contents import text_of
from dashboards.filters import PAGE, page_key, page_number, pages, said, several
from dashboards.plain import block, escape, facts, language_of, number, say_masked, size
from lake.masking import Masker

PANELS = ("Instruction and inputs", "Verifier", "Audit", "Attempts", "Reviews")


def listing() -> None:
    """The list, a page at a time; choosing a line opens it."""
    choices = rows("tasks/choices")
    columns = st.columns(5)
    chosen: dict[str, object] = {}
    for column, (label, name, key) in zip(
        columns,
        (("Status", "status", "statuses"), ("Split", "split", "splits"), ("Family", "family", "families"),
         ("Bench category", "bench_category", "categories")),
        strict=False,
    ):  # fmt: skip
        with column:
            chosen[key] = several(label, choices, name, f"k_{key}")
    chosen["text"] = columns[4].text_input("Id or instruction contains", key="k_text").strip()
    turning = page_key("k_page", chosen)
    page = page_number(turning)
    found = rows("tasks/list", **chosen, limit=PAGE, offset=(page - 1) * PAGE)
    if not found:
        st.caption("n = 0 tasks fit these filters.")
        return
    total = found[0]["total"]
    st.caption(f"{said(total, len(found), page, 'task versions')}. Choose a line to open it.")
    event = st.dataframe(
        [{key: value for key, value in row.items() if key != "total"} for row in found],
        hide_index=True,
        height=560,
        on_select="rerun",
        selection_mode="single-row",
        key=f"k_list_{page}",
        column_order=(
            "task_id",
            "bench_category",
            "difficulty",
            "status",
            "split",
            "counted",
            "scripted_mean",
            "scripted_n",
            "model_mean",
            "model_n",
            "reasons",
            "input_count",
            "task_version",
        ),
        column_config={
            "bench_category": "bench category",
            "input_count": "inputs",
            "counted": "attempts",
            "reasons": "rejected for",
            "task_version": "version",
            "scripted_mean": st.column_config.NumberColumn("teachers' mean", format="%.2f"),
            "scripted_n": "teachers' n",
            "model_mean": st.column_config.NumberColumn("models' mean", format="%.2f"),
            "model_n": "models' n",
        },
    )
    pages(total, turning)
    if event.selection.rows:
        row = found[event.selection.rows[0]]
        st.query_params.update({"id": row["task_id"], "version": row["task_version"]})
        st.rerun()


def one(task_id: str, version: str | None) -> None:
    """One task version."""
    if st.button("All tasks", icon=":material/arrow_back:"):
        st.query_params.clear()
        st.rerun()
    found = rows("tasks/one", task_id=task_id, task_version=version)
    if not found:
        st.warning(f"There is no task called {escape(task_id)}.")
        return
    task = found[0]
    st.subheader(escape(task["task_id"]))
    color = {"accepted": "green", "rejected": "red"}.get(task["status"], "gray")
    badges = [f":{color}-badge[{escape(task['status'])}]"]
    for value in (task["split"], task["bench_category"], task["origin"], f"difficulty {task['difficulty']} of 5"):
        if value:
            badges.append(f":gray-badge[{escape(value)}]")
    st.markdown(" ".join(badges))
    st.caption(f"version {escape(task['task_version'])} · verifier {escape(task['verifier_version'])}")
    chosen = st.segmented_control(
        "Panel", PANELS, default=PANELS[0], key="task_panel", label_visibility="collapsed", required=True
    )
    {
        PANELS[0]: instruction, PANELS[1]: verifier, PANELS[2]: audit, PANELS[3]: attempts, PANELS[4]: reviews.panel,
    }[chosen or PANELS[0]](task)  # fmt: skip


def instruction(task: Row) -> None:
    """What the agent is told and given."""
    left, right = st.columns(2)
    with left:
        st.markdown("**Instruction**")
        block(task["instruction"])
        if task["persona"]:
            st.markdown("**Persona**")
            block(task["persona"])
        facts(
            {
                "scenario": " / ".join(filter(None, (task["scenario_category"], task["scenario_subcategory"]))) or None,
                "operations": ", ".join(task["operations"] or []),
                "skills": ", ".join(task["skill_ids"] or []) or None,
                "expected outputs": ", ".join(task["expected_outputs"] or []),
                "licence": task["licence"],
            }
        )
    with right:
        manifest = json.loads(task["input_manifest"])
        st.markdown(f"**Inputs** (n = {len(manifest)}, {size(task['input_bytes'])})")
        contents(manifest, "input_file")


def contents(manifest: list[Row], key: str) -> None:
    """One file of a manifest, chosen from all."""
    if not manifest:
        st.caption("None.")
        return
    chosen = st.selectbox(
        "File",
        range(len(manifest)),
        format_func=lambda at: f"{manifest[at]['path']}  ({size(manifest[at]['size'])})",
        key=key,
    )
    found = text_of(manifest[chosen]["sha256"], Masker(), replace=True)
    if found is None:
        st.caption("Its content is not in the lake.")
        return
    block(found.text or "(empty)", language=language_of(manifest[chosen]["path"]))
    if found.cut:
        st.caption(f"The first {len(found.text):,} characters of {found.whole:,} bytes.")
    say_masked(found.masked)


def verifier(task: Row) -> None:
    """The code that grades and the rubric, where there is one."""
    st.caption(
        f"Protocol {escape(task['verifier_protocol'])}. It runs in a sandbox of its own on the frozen workspace."
    )
    contents(json.loads(task["reward_manifest"]), "reward_file")
    if task["rubric"]:
        rules = json.loads(task["rubric"])
        st.markdown(f"**Rubric** (n = {len(rules)} rules)")
        block(json.dumps(rules, indent=2, ensure_ascii=False), language="json")


def audit(task: Row) -> None:
    """The probes of the verifier."""
    found = rows("tasks/audits", task_id=task["task_id"], task_version=task["task_version"])
    if not found:
        st.caption("Not audited.")
        return
    killed = f"{task['mutants_killed']} of {task['mutants']}" if task["mutants"] else "none made"
    for column, (label, value) in zip(
        st.columns(4),
        (("Probes as they must be", f"{task['passed']} of {task['probes']}"), ("Oracle", number(task["oracle_score"])),
         ("Best worthless output", number(task["worst_worthless"])), ("Mutants killed", killed)),
        strict=True,
    ):  # fmt: skip
        column.metric(label, value)
    if task["reasons"]:
        st.warning(f"Rejected for: {escape(', '.join(task['reasons']))}")
    st.dataframe(
        found, hide_index=True, column_config={"score_code": st.column_config.NumberColumn("score", format="%.3f")}
    )
    st.caption(f"n = {len(found)} probes. Each is a stored run of the verifier on a workspace whose worth is known.")


def attempts(task: Row) -> None:
    """The attempts on this task; choosing one opens its run."""
    found = rows("tasks/attempts", task_id=task["task_id"], task_version=task["task_version"], limit=200, offset=0)
    if not found:
        st.caption("n = 0 attempts.")
        return
    st.caption(f"n = {found[0]['total']:,} attempts. Choose a line to open its run.")
    event = st.dataframe(
        [{key: value for key, value in row.items() if key != "total"} for row in found],
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key="k_attempts",
        column_config={
            "score_code": st.column_config.ProgressColumn("code score", min_value=0, max_value=1, format="%.2f"),
            "duration_s": st.column_config.NumberColumn("seconds", format="%.1f"),
        },
    )
    if event.selection.rows:
        row = found[event.selection.rows[0]]
        if row["trajectory_id"]:
            st.switch_page("screens/trajectories.py", query_params={"id": row["trajectory_id"]})
        st.info("This attempt left no trajectory.")


def page() -> None:
    """The page."""
    st.title("Tasks")
    asked = st.query_params.get("id")
    if asked:
        one(asked, st.query_params.get("version"))
    elif not rows("tasks/choices"):
        st.info("Nothing here yet: run `make demo`.")
    else:
        listing()


page()
