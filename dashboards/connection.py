"""The lake behind the pages: one state of it, its queries, and caches keyed by table versions.

Belongs here: opening, choosing a state, running a query of `sql/`. Does not belong here: what a page does with rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import streamlit as st

import lake
import sql
from lake import Lake
from lake.errors import LakeError, UsageError
from lake.explain import explain
from lake.ids import sha256_hex
from lake.reader import Reader
from lake.schema import TABLES
from lake.settings import lake_root

QUERY_SECONDS = 20.0
"""Most time a query that somebody typed may take."""

Row = dict[str, Any]

_SECONDS_BETWEEN_LOOKS = 2.0
"""How old the list of table versions may be before it is read again."""


@dataclass(frozen=True)
class State:
    """One state of the lake: the newest, or that of a snapshot. Its key changes whenever any table does."""

    root: str
    as_of: str | None
    key: str


@st.cache_resource(show_spinner=False, max_entries=4)
def _open(root: str) -> Lake:
    return lake.open(root, create=False)


@st.cache_data(show_spinner=False, ttl=_SECONDS_BETWEEN_LOOKS, max_entries=8)
def _newest(root: str) -> str:
    store = _open(root).store
    return sha256_hex(repr([(name, store.version(name)) for name in TABLES]))


@st.cache_resource(show_spinner=False, max_entries=8)
def _reader(state: str, root: str, as_of: str | None) -> Reader:
    """A reader of one state; `state` is the cache's key only."""
    opened = _open(root)
    return opened.now() if as_of is None else opened.at(as_of)


def current() -> State:
    """The state that the sidebar asks for.

    Raises:
        LakeError: there is no lake, or it cannot be used.
    """
    root = str(lake_root())
    as_of: str | None = st.session_state.get("as_of")
    return State(root, as_of, f"{root}\n{_newest(root)}" if as_of is None else f"{root}\n{as_of}")


def forget() -> None:
    """Look at the lake afresh at the next reading: something was written."""
    _newest.clear()


def snapshots() -> list[Row]:
    """The snapshots of the lake, newest first."""
    root = current().root
    query = "select snapshot_id, recorded_at, reason from snapshots order by recorded_at desc, snapshot_id limit 200"
    found: list[Row] = _rows(f"{root}\n{_newest(root)}", root, None, query, {}).to_pylist()
    return found


@st.cache_data(show_spinner=False, max_entries=256)
def _rows(state: str, root: str, as_of: str | None, query: str, parameters: Mapping[str, Any]) -> pa.Table:
    return _reader(state, root, as_of).sql(query, dict(parameters) or None).to_arrow_table()


def table(name: str, **parameters: Any) -> pa.Table:
    """Rows of a query of `sql/` (its path without `.sql`) in the current state, cached until the state changes."""
    state = current()
    return _rows(state.key, state.root, state.as_of, sql.load(name), parameters)


def rows(name: str, **parameters: Any) -> list[Row]:
    """Rows of a query of `sql/` as dicts."""
    found: list[Row] = table(name, **parameters).to_pylist()
    return found


def view(name: str) -> list[Row]:
    """All rows of a small view of `sql/views`."""
    state = current()
    found: list[Row] = _rows(state.key, state.root, state.as_of, f"from {name}", {}).to_pylist()
    return found


def ask(query: str, limit: int) -> tuple[pa.Table, bool]:
    """Rows of a query somebody typed, at most `limit`, and whether there were more.

    Raises:
        UsageError: it is something else than a query, or takes longer than `QUERY_SECONDS`.
        duckdb.Error: it does not run.
    """
    state = current()
    return _reader(state.key, state.root, state.as_of).answer(query, limit=limit, seconds=QUERY_SECONDS)


def blob(sha256: str) -> bytes | None:
    """Content of a blob; null when the log does not hold it."""
    state = current()
    try:
        return _reader(state.key, state.root, state.as_of).blob(sha256)
    except LakeError:
        return None


def opened() -> Lake:
    """The lake itself, for writing a review."""
    return _open(current().root)


def explanation(identity: str) -> str:
    """The walk from an id down to the bytes it came from, as text; says so when nothing has this id."""
    state = current()
    return _explanation(state.key, state.root, state.as_of, identity)


@st.cache_data(show_spinner=False, max_entries=64)
def _explanation(state: str, root: str, as_of: str | None, identity: str) -> str:
    try:
        return explain(_reader(state, root, as_of), identity).to_text()
    except UsageError as error:
        return str(error)
