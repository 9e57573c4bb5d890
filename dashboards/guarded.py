"""What `streamlit run` serves: the pages behind `lake.network.SameSite`.

Belongs here: putting the guard in front. Does not belong here: the guard, and anything shown (`app`).

Streamlit looks at the `Origin` of WebSockets but not at the `Host`, so a web page whose name resolves to this machine
could ask the SQL page.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from streamlit.starlette import App

from lake.network import SameSite

app = App(
    Path(__file__).with_name("app.py"),
    middleware=[Middleware(SameSite, host=str(st.get_option("server.address")))],
)
