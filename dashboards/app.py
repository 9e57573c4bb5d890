"""The application: navigation, the token gate, the choice of a snapshot, and one plain line for what goes wrong.

Belongs here: what all pages share. Does not belong here: anything one page shows.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import streamlit as st

from dashboards import gate
from dashboards.connection import current, snapshots
from dashboards.plain import escape
from lake.errors import ClawGymError

NOW = "now"
ICON = str(Path(__file__).with_name("icon.svg"))  # a file of ours: for named icons browsers ask a font server


def choose_state() -> None:
    """The sidebar: which lake, and as of when."""
    known = {f"{row['recorded_at']:%Y-%m-%d %H:%M:%S} UTC · {row['reason']}": row["snapshot_id"] for row in snapshots()}
    with st.sidebar:
        chosen = st.selectbox(
            "As of",
            [NOW, *known],
            help="What the lake knew then: the tables at the versions a snapshot names.",
            key="state",
        )
        st.session_state["as_of"] = known.get(chosen)
        st.caption(f"Lake: {escape(current().root)}")


def main() -> None:
    """Draw the page that was asked for."""
    st.set_page_config(page_title="ClawGym lakehouse", page_icon=ICON, layout="wide")
    page = st.navigation(
        [
            st.Page("screens/overview.py", title="Overview", icon=":material/monitoring:", default=True),
            st.Page("screens/trajectories.py", title="Trajectories", icon=":material/route:"),
            st.Page("screens/tasks.py", title="Tasks", icon=":material/task:"),
            st.Page("screens/bench.py", title="Bench", icon=":material/leaderboard:"),
            st.Page("screens/query.py", title="SQL", icon=":material/database:"),
        ]
    )
    if not gate.open_to_this_visitor():
        return
    try:
        choose_state()
        page.run()
    except ClawGymError as error:
        st.title(page.title)
        st.info(escape(error), icon=":material/info:")
    except duckdb.Error as error:
        st.error(escape(f"The lake could not be read: {error}. Run `clawgym lake verify`."), icon=":material/error:")


main()
