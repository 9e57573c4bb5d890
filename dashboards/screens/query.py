"""SQL: a box for queries over all tables and views, with the worked examples.

Belongs here: the box and how an answer is shown. What a query may do is decided in `lake`.
"""

from __future__ import annotations

import time

import duckdb
import pyarrow as pa
import streamlit as st

import sql
from dashboards.connection import QUERY_SECONDS, ask, current
from dashboards.plain import block, escape
from lake.engine import view_definitions
from lake.errors import UsageError
from lake.masking import Masker
from lake.schema import TABLES

LIMIT = 1000  # rows shown of an answer
OWN = "your own"
FIRST = "select position, label, n, detail from funnel order by position"


def shown_cells(answer: pa.Table) -> pa.Table:
    """Bytes as their sizes, and texts masked: raw records and blobs may hold what is masked everywhere else."""
    masker = Masker()
    for index, field in enumerate(answer.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            texts = [None if value is None else masker.mask(value) for value in answer.column(index).to_pylist()]
            answer = answer.set_column(index, field.name, pa.array(texts, field.type))
        if pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            sizes = ["–" if value is None else f"{len(value):,} bytes" for value in answer.column(index).to_pylist()]
            answer = answer.set_column(index, field.name, pa.array(sizes, pa.string()))
    return answer


def take_example() -> None:
    """Put the chosen example into the box."""
    chosen = st.session_state["example"]
    if chosen != OWN:
        st.session_state["query"] = st.session_state["asked"] = sql.load(chosen)


def take_query() -> None:
    """Run what is in the box now; until then an answer stays as it is."""
    st.session_state["asked"] = st.session_state["query"]


def run(query: str) -> None:
    """Run a query and show its answer."""
    started = time.perf_counter()
    try:
        answer, more = ask(query, LIMIT)
    except UsageError as error:
        st.error(escape(error))
        return
    except duckdb.Error as error:
        st.error("DuckDB says:")
        block(str(error))
        return
    spent = time.perf_counter() - started
    shown = f"first {LIMIT:,} rows of more" if more else f"n = {answer.num_rows:,} rows"
    st.caption(f"{shown} · {spent:.2f} s")
    st.dataframe(shown_cells(answer), hide_index=True)


def reference() -> None:
    """Tables, views and what they mean."""
    with st.expander("Tables and views"):
        st.dataframe(
            [
                {"name": spec.name, "kind": spec.kind, "one row": spec.grain, "what it is": spec.doc}
                for spec in TABLES.values()
            ]
            + [
                {"name": name, "kind": "view", "one row": "", "what it is": text.split("\n", 1)[0].removeprefix("-- ")}
                for name, text in view_definitions().items()
            ],
            hide_index=True,
        )
        chosen = st.selectbox("Columns of", list(TABLES), key="columns_of")
        st.dataframe(
            [
                {"column": c.name, "type": str(c.type), "unit": c.unit or "", "null": c.nullable, "meaning": c.doc}
                for c in TABLES[chosen].columns
            ],
            hide_index=True,
        )


def page() -> None:
    """The page."""
    st.title("SQL")
    st.caption(
        f"Queries only, over this lake only, {QUERY_SECONDS:g} s and {LIMIT:,} rows at most; secrets are masked, bytes "
        "shown as their size. "
        "The same on the command line: `clawgym sql -f sql/examples/….sql`."
    )
    current()
    examples = sql.names("examples")
    titles = {name: sql.title(name) for name in examples}
    st.selectbox(
        "Example",
        [OWN, *examples],
        format_func=lambda name: titles.get(name, "Your own query"),
        key="example",
        on_change=take_example,
    )
    st.session_state.setdefault("query", FIRST)
    st.session_state.setdefault("asked", FIRST)
    st.text_area("Query", key="query", height=260)
    st.button("Run", type="primary", icon=":material/play_arrow:", on_click=take_query)
    run(st.session_state["asked"])
    reference()


page()
