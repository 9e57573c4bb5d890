"""Filters and pages of lists.

Belongs here: the widgets that lists share. Does not belong here: the lists.
"""

from __future__ import annotations

import streamlit as st

from dashboards.connection import Row

PAGE = 50
"""Rows of a list shown at once."""


def several(label: str, choices: list[Row], name: str, key: str) -> list[str]:
    """A choice of several values of a filter, each with its n; nothing chosen means any."""
    counts = {row["choice"]: row["n"] for row in choices if row["filter"] == name}
    chosen: list[str] = st.multiselect(
        label, list(counts), format_func=lambda value: f"{value} ({counts.get(value, 0):,})", key=key, placeholder="any"
    )
    return chosen


def page_number(key: str, filters: object) -> int:
    """The page a list is on, from 1; back to 1 when the filters changed."""
    if st.session_state.get(f"{key}_filters") != filters:
        st.session_state[f"{key}_filters"] = filters
        st.session_state[key] = 1
    return int(st.session_state.get(key, 1))


def pages(total: int, key: str) -> None:
    """The control to turn pages, where there is more than one."""
    if total > PAGE:
        st.pagination(-(-total // PAGE), key=key)


def said(total: int, shown: int, page: int, what: str) -> str:
    """`Rows 51 to 100 of n = 1,234 trajectories`."""
    first = (page - 1) * PAGE + 1
    return f"{first:,} to {first + shown - 1:,} of n = {total:,} {what}"
