"""DuckDB over the Delta tables: pinned tables, cursors that see only what they are given, and read-only user SQL.

Belongs here: connections, views, identifiers, what user SQL may do. Does not belong here: SQL text longer than a view
(see `sql/`), what a caller does with rows.
"""

from __future__ import annotations

import json
import os
import re
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import duckdb
import duckdb_extension_delta

from lake.errors import UsageError
from lake.ids import Json
from lake.schema import TABLES

if TYPE_CHECKING:
    from lake.store import Store

SQL_ROOT = Path(__file__).resolve().parent.parent / "sql"
"""The folder of `.sql` files."""

_MAX_ATTACHED = 512
"""Pinned table versions one DuckDB instance holds; then a fresh instance takes over and the old one goes when its
last cursor does."""

_READABLE = ("log", "tables", "replay")
"""Folders of a lake that confined SQL can reach; not the attempts' folders, nor spools."""

_SCRATCH = "scratch"
"""Folder of a lake for what no process needs any more when it is gone."""

_WORD = re.compile(r"[a-z_][a-z0-9_]*")
_CATALOGUE = re.compile(r"\b(show|describe|summarize|pragma|information_schema|duckdb_\w+|query|query_table|columns)\b")
_CREATE_VIEW = re.compile(r"((?:^|\n)[ \t]*)create\s+(?:or\s+replace\s+)?view\s+", re.IGNORECASE)
_NUMBER = re.compile(r"^\d+_")

_PERSONS_MEMORY = "2GB"
"""Memory of a person's queries before they spill."""

_TABLE_FUNCTIONS = frozenset(
    {
        "duckdb_columns",
        "duckdb_functions",
        "duckdb_keywords",
        "duckdb_schemas",
        "duckdb_settings",
        "duckdb_tables",
        "duckdb_types",
        "duckdb_views",
        "generate_series",
        "histogram",
        "histogram_values",
        "icu_calendar_names",
        "json_each",
        "json_tree",
        "pg_timezone_names",
        "pragma_show",
        "pragma_table_info",
        "pragma_version",
        "query_table",
        "range",
        "repeat",
        "repeat_row",
        "summary",
        "unnest",
    }
)
"""Table functions of read-only SQL. Any other is refused: one of an extension opens files and addresses that DuckDB's
own confinement does not know of, and one that takes SQL or a path as text can hide it."""


@dataclass(frozen=True)
class Place:
    """One version of one table."""

    path: Path
    version: int
    made: int
    """Identity of the folder's first log entry: another lake at the same path is another place."""


def quote(identifier: str) -> str:
    """An SQL identifier in double quotes; the one place identifiers are quoted."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """An SQL string literal, for the few places where DuckDB takes no parameter."""
    return "'" + text.replace("'", "''") + "'"


class Engine:
    """One in-memory DuckDB instance whose cursors each see the tables they ask for, and nothing else.

    Table versions are attached once and pinned, so a cursor reads one state however long it lives, and a second one
    pays no second opening. Safe to use from several threads; a cursor belongs to one thread at a time.
    """

    def __init__(self, confined_to: Path | None = None, threads: int | None = None, memory: str | None = None) -> None:
        """Args:
        confined_to: when given, SQL can reach no file but the tables of this lake and can change no setting.
        threads: DuckDB threads; 1 makes sums of floats come out the same every time.
        memory: what DuckDB's buffers may hold before it spills; its own default where absent.
        """
        self._confined_to, self._threads, self._memory = confined_to, threads, memory
        self._lock = threading.Lock()
        self._base: duckdb.DuckDBPyConnection | None = None
        self._attached: dict[Place, str] = {}
        self._pid = os.getpid()

    def cursor(self, places: Mapping[str, Place]) -> duckdb.DuckDBPyConnection:
        """A cursor with a temporary view for each of `places`."""
        if self._confined_to is not None:
            with suppress(OSError):  # a lake that cannot be written is still read
                (self._confined_to / _SCRATCH).mkdir(exist_ok=True)
        with self._lock:
            full = len(self._attached) + len(places) > _MAX_ATTACHED
            if self._base is None or full or self._pid != os.getpid():  # a forked child may not touch the parent's
                self._base, self._attached, self._pid = self._open(), {}, os.getpid()
            base = self._base
            aliases = {name: self._attach(base, name, place) for name, place in places.items()}
            cursor = base.cursor()
        for name, alias in aliases.items():
            cursor.execute(f"create temp view {quote(name)} as select * from {quote(alias)}")  # noqa: S608 - quoted
        return cursor

    def open(self, cursor: duckdb.DuckDBPyConnection, name: str, place: Place, columns: str, where: str) -> None:
        """Add a view of some columns and rows of a table to a cursor."""
        with self._lock:
            alias = self._attach(cursor, name, place)
        cursor.execute(f"create temp view {quote(name)} as select {columns} from {quote(alias)} where {where}")  # noqa: S608 - code, not input

    def _attach(self, base: duckdb.DuckDBPyConnection, name: str, place: Place) -> str:
        alias = self._attached.get(place)
        if alias is None:
            alias = f"{name}@{place.version}#{len(self._attached)}"
            base.execute(
                f"attach {literal(str(place.path))} as {quote(alias)}"
                f" (type delta, pin_snapshot, version {int(place.version)})"
            )
            self._attached[place] = alias
        return alias

    def _open(self) -> duckdb.DuckDBPyConnection:
        base = duckdb.connect(":memory:")
        extension = next(Path(duckdb_extension_delta.__file__).parent.rglob("delta.duckdb_extension"))
        base.execute(f"load {literal(str(extension))}")
        base.execute("set global timezone = 'UTC'")
        base.execute("set arrow_large_buffer_size = true")
        base.execute("set parquet_metadata_cache = true")  # files of a table are never written again
        if self._threads is not None:
            base.execute(f"set threads = {int(self._threads)}")
        if self._memory is not None:
            base.execute(f"set memory_limit = {literal(self._memory)}")
        if self._confined_to is not None:
            # SQL may read the folder DuckDB spills to, so it holds nothing else; DuckDB makes it when needed
            spill = self._confined_to / _SCRATCH / f"sql-{uuid.uuid4().hex}"
            base.execute(f"set temp_directory = {literal(str(spill))}")
            folders = ", ".join(literal(f"{self._confined_to / name}/") for name in _READABLE)
            base.execute(f"set allowed_directories = [{folders}]")
            base.execute("set enable_external_access = false")
            base.execute("set lock_configuration = true")
        return base


_CODE = Engine()
"""One instance for the code of the whole process: opening one costs more than most queries."""

EngineKind = Literal["code", "person", "projection"]
"""Whose SQL it is: this project's, a person's (confined to the lake), or a projection's (confined, one thread)."""


class Engines:
    """The DuckDB instances over one lake, each opened when first needed; that for code serves all lakes."""

    def __init__(self, root: Path) -> None:
        self._engines: dict[EngineKind, Engine] = {
            "code": _CODE,
            "person": Engine(confined_to=root, memory=_PERSONS_MEMORY),
            "projection": Engine(confined_to=root, threads=1),
        }

    def get(self, kind: EngineKind = "code") -> Engine:
        """The instance for a kind of SQL."""
        return self._engines[kind]


def check_read_only(query: str) -> None:
    """Refuse SQL that could do anything but read tables.

    Raises:
        UsageError: a statement that is not a query, a table function that is not known to stay inside, or SQL that
            does not parse.
    """
    for text in _selects(query):
        for node in _nodes(text):
            if node.get("type") == "TABLE_FUNCTION":
                name = str(node["function"].get("function_name")).lower()
                if name not in _TABLE_FUNCTIONS:
                    raise UsageError(
                        f"the table function {name!r} is not allowed here: it may reach files, addresses or SQL "
                        "outside the lake's tables; query the tables and views by name"
                    )


def called(query: str) -> set[str]:
    """Names of the functions that read-only SQL calls, operators included.

    Raises:
        UsageError: it is not read-only SQL.
    """
    nodes = (node for text in _selects(query) for node in _nodes(text))
    return {str(node["function_name"]).lower() for node in nodes if "function_name" in node}


def _selects(query: str) -> Iterator[str]:
    """The queries in an SQL text, without the `explain` before them."""
    try:
        statements = duckdb.extract_statements(query)
    except duckdb.Error as error:
        raise UsageError(f"the SQL cannot be read: {error}") from error
    if not statements:
        raise UsageError("there is no SQL statement to run")
    for statement in statements:
        kind = statement.type.name
        if kind == "EXPLAIN":
            yield from _selects(_explained(statement.query))
        elif kind == "SELECT":
            yield statement.query
        else:
            raise UsageError(
                f"only queries are allowed here, this is {kind}: {statement.query.strip()[:80]!r}; "
                "a pivot needs its values listed (pivot … on column in (…))"
            )


def _explained(query: str) -> str:
    """What an `explain` explains. Words are found as DuckDB finds them, so behind comments too."""
    text = query.encode()
    starts = [start for start, _ in duckdb.tokenize(query)]
    words = [text[start:end].decode() for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    skipped = 1
    if len(words) > 1 and re.match(r"analy[sz]e\b", words[1], re.IGNORECASE):
        skipped = 2
    rest = text[starts[skipped] :].decode() if skipped < len(starts) else ""
    if rest.startswith("("):  # options, or a query in parentheses
        try:
            duckdb.extract_statements(rest)
        except duckdb.Error:
            return rest.partition(")")[2]
    return rest


def _nodes(query: str) -> Iterator[dict[str, Json]]:
    """Every node of the parsed form of one query."""
    found = _CODE.cursor({}).execute("select json_serialize_sql($1)", [query]).fetchone()
    parsed = json.loads(found[0]) if found else {"error": True}
    if parsed["error"]:
        raise UsageError(
            f"the SQL cannot be looked through: {parsed.get('error_message', query[:80])}; word it plainer"
        )
    waiting: list[Json] = [parsed["statements"]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def mentioned(query: str, names: set[str], definitions: Mapping[str, str]) -> set[str]:
    """Which of `names` a query may read: those it mentions, directly or through the views it mentions.

    A superset is returned in doubt (words are matched, not parsed), all of them for questions about the catalogue.
    """
    text = query.lower()
    if _CATALOGUE.search(text):
        return set(names)
    found: set[str] = set()
    waiting = set(_WORD.findall(text)) & names
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= (set(_WORD.findall(definitions.get(name, ""))) & names) - found
    return found


def view_definitions() -> dict[str, str]:
    """The views of `sql/views/NN_name.sql` in file order (a later one may use earlier ones): view name to its SQL."""
    folder = SQL_ROOT / "views"
    files = sorted(folder.glob("*.sql"))
    return {_NUMBER.sub("", file.stem): file.read_text(encoding="utf-8") for file in files}


def create_view(cursor: duckdb.DuckDBPyConnection, name: str, definition: str) -> None:
    """Create a view of `sql/views` on a cursor, as a temporary one: it may depend on the cursor's pinned tables.

    Raises:
        UsageError: the file does not hold one `create or replace view <name> as …`.
    """
    text, count = _CREATE_VIEW.subn(r"\1create or replace temp view ", definition, count=1)
    if count != 1:
        raise UsageError(f"sql/views/NN_{name}.sql must hold one statement: create or replace view {name} as …")
    cursor.execute(text)


def connect(
    store: Store, versions: Mapping[str, int] | None = None, *, views: bool = True, read_only: bool = False
) -> duckdb.DuckDBPyConnection:
    """A cursor with every lake table, then the views of `sql/views/*.sql` in name order.

    Prefer `Lake.sql` or `Reader.cursor`, which open only the tables a query needs.

    Args:
        store: the tables.
        versions: table name to Delta version (a snapshot); current versions where absent.
        views: whether to create the views of `sql/views`.
        read_only: whether SQL on it is confined to the lake folder, with settings locked. Statements are still to be
            checked by `check_read_only`, since DuckDB may write where it may read.
    """
    at = versions or {}
    places = {name: store.place(name, at.get(name)) for name in TABLES}
    cursor = store.engines.get("person" if read_only else "code").cursor(places)
    if views:
        for name, definition in view_definitions().items():
            create_view(cursor, name, definition)
    return cursor
