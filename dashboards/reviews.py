"""Reviews by people: the one thing the pages write, as an event.

Belongs here: the form. Does not belong here: the event (`lake/reviews.py`), what follows from a review.
"""

from __future__ import annotations

import streamlit as st

from dashboards.connection import Row, current, forget, opened, rows
from dashboards.plain import escape
from lake.reviews import DECISIONS, NOTE_LIMIT, record_review


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
            record_review(
                opened(),
                subject_kind="task",
                subject_id=subject,
                decision=decision,
                reviewer=f"person:{name.strip()}",
                note=note,
                actor="dashboards.reviews",
            )
            forget()
            st.success(f"Recorded: {escape(decision)} by {escape(name)}.")
            st.rerun()
