"""Reviews by people: the one thing the pages write, as an event.

Belongs here: the form and the event `review.recorded`. Does not belong here: what follows from a review.
"""

from __future__ import annotations

import uuid

import streamlit as st

from dashboards.connection import Row, current, forget, opened, rows
from dashboards.plain import escape
from lake import Lake

DECISIONS = ("accept", "revise", "reject")
NOTE_LIMIT = 4_000
"""Characters of a note."""


def record(lake: Lake, *, subject_kind: str, subject_id: str, decision: str, reviewer: str, note: str) -> str:
    """Append one review to the log; returns its id.

    Args:
        subject_kind: what is reviewed, e.g. task.
        subject_id: which one, e.g. `<task_id>@<task_version>`.
        decision: accept, revise or reject.
        reviewer: `person:<name>`.
        note: why, in words.
    """
    if decision not in DECISIONS:
        raise ValueError(f"decision {decision!r} is none of {DECISIONS}")
    review_id = uuid.uuid4().hex[:20]
    payload = {
        "review_id": review_id, "subject_kind": subject_kind, "subject_id": subject_id, "decision": decision,
        "reviewer": reviewer, "note": note[:NOTE_LIMIT],
    }  # fmt: skip
    with lake.spool("dashboards.reviews") as spool:
        spool.stream("review", review_id).emit("review.recorded", payload)
    lake.commit()
    return review_id


def panel(task: Row) -> None:
    """What was said about a task, and a form to say something."""
    subject = f"{task['task_id']}@{task['task_version']}"
    found = rows("tasks/reviews", subject_id=subject)
    st.caption(f"n = {len(found)} reviews of this version.")
    if found:
        st.dataframe(found, hide_index=True)
    if current().as_of is not None:
        st.caption("This is a state of the past; choose `now` to write a review.")
        return
    with st.form("review", clear_on_submit=True):
        decision = st.radio("Decision", DECISIONS, horizontal=True)
        name = st.text_input("Your name")
        note = st.text_area("Why", max_chars=NOTE_LIMIT)
        if st.form_submit_button("Record"):
            if not name.strip():
                st.error("Say who you are: a review has an author.")
                return
            record(
                opened(),
                subject_kind="task",
                subject_id=subject,
                decision=decision,
                reviewer=f"person:{name.strip()}",
                note=note,
            )
            forget()
            st.success(f"Recorded: {escape(decision)} by {escape(name)}.")
            st.rerun()
