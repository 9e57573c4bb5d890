"""Filters and pages of lists.

Belongs here: the widgets that lists share. Does not belong here: the lists.
"""

from __future__ import annotations

import streamlit as st

from dashboards.connection import Row
from lake.ids import sha256_hex

PAGE = 50
"""Rows of a list shown at once."""


def several(label: str, choices: list[Row], name: str, key: str) -> list[str]:
    """A choice of several values of a filter, each with its n; nothing chosen means any."""
    counts = {row["choice"]: row["n"] for row in choices if row["filter"] == name}
    chosen: list[str] = st.multiselect(
        label, list(counts), format_func=lambda value: f"{value} ({counts.get(value, 0):,})", key=key, placeholder="any"
    )
    return chosen


def page_key(name: str, filters: object) -> str:
    """Key of the control that turns the pages of a list: another one for other filters, which so begin at page 1."""
    return f"{name}_{sha256_hex(repr(filters))[:12]}"


def page_number(key: str) -> int:
    """The page a list is on, from 1."""
    return int(st.session_state.get(key, 1))


def pages(total: int, key: str, size: int = PAGE) -> None:
    """The control to turn pages, where there is more than one."""
    if total > size:
        st.pagination(-(-total // size), key=key)


def said(total: int, shown: int, page: int, what: str) -> str:
    """`Rows 51 to 100 of n = 1,234 trajectories`."""
    first = (page - 1) * PAGE + 1
    return f"{first:,} to {first + shown - 1:,} of n = {total:,} {what}"
