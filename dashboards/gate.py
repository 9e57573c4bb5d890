"""The token that a dashboard reachable from elsewhere asks for.

Belongs here: the check. Does not belong here: when a token is needed (`__main__` decides by the address).
"""

from __future__ import annotations

import hmac
import os

import streamlit as st

TOKEN = "CLAWGYM_DASHBOARD_TOKEN"


def open_to_this_visitor() -> bool:
    """Whether this session may see the pages; asks for the token where one is set."""
    token = os.environ.get(TOKEN, "")
    if not token or st.session_state.get("let_in"):
        return True
    given = st.text_input("Token", type="password", help=f"The value of {TOKEN} on the machine that serves this page.")
    if given and hmac.compare_digest(given.encode(), token.encode()):
        st.session_state["let_in"] = True
        st.rerun()
    if given:
        st.error("That is not the token.")
    return False
