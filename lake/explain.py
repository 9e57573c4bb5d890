"""Explain: walk from any id to what it came from, down to the bytes of a source.

Belongs here: finding an id, following references, the tree and its text. Does not belong here: which column points at
what (`references` in the schema; `lineage` declares the few edges that no column states).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Final

import duckdb

from lake.engine import quote
from lake.errors import LakeError, UsageError
from lake.ids import Json
from lake.lineage import FACTS, IDENTITIES, SUMMARIES, UNIQUE, Edge, edges_of
from lake.reader import Reader
from lake.schema import TABLES

if TYPE_CHECKING:
    from lake.lake import Lake

_EXPANDED: Final = 20
"""Rows of one relation that are shown; the rest are counted."""
_SHORTEST: Final = 4
"""Characters from which an id may be shortened."""
_ALIKE: Final = 3
"""So many nodes that stand in the same relation are each shown in the text."""


@dataclass
class Node:
    """One row (or one group of rows) in the tree."""

    label: str
    """How its parent relates to it; empty for a root."""
    table: str
    key: dict[str, Json]
    facts: dict[str, Json] = field(default_factory=dict)
    note: str = ""
    """`not found`, `shown above`, or how many rows it stands for."""
    found: bool = True
    children: list[Node] = field(default_factory=list)

    def to_json(self) -> Json:
        """As plain data."""
        return {
            "label": self.label,
            "table": self.table,
            "key": {name: _plain(value) for name, value in self.key.items()},
            "facts": {name: _plain(value) for name, value in self.facts.items()},
            "note": self.note,
            "found": self.found,
            "children": [child.to_json() for child in self.children],
        }


@dataclass(frozen=True)
class Explanation:
    """Everything an id came from."""

    id: str
    roots: tuple[Node, ...]

    def nodes(self) -> Iterator[Node]:
        """All nodes, parents first."""
        waiting = list(reversed(self.roots))
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    @property
    def missing(self) -> list[Node]:
        """What is pointed at and cannot be found."""
        return [node for node in self.nodes() if not node.found]

    def to_json(self) -> Json:
        """As plain data."""
        return {"id": self.id, "complete": not self.missing, "roots": [root.to_json() for root in self.roots]}

    def to_text(self, *, full: bool = False) -> str:
        """As an indented tree, one line a node.

        Args:
            full: whether all of many like nodes (the probes of a task) are shown; else the first and their number.
        """
        lines: list[str] = []
        for root in self.roots:
            _render(root, "", "", lines, full=full)
        if self.missing:
            lines.append(f"{len(self.missing)} of the things pointed at cannot be found")
        return "\n".join(lines)


def explain(lake: Lake | Reader, id_: str) -> Explanation:
    """Walk from an id (of an example, trajectory, attempt, task, verdict, event, record, blob …) to its origins.

    Raises:
        UsageError: nothing has this id.
    """
    walk = _Walk(lake if isinstance(lake, Reader) else lake.now())
    roots = walk.roots(id_) or walk.roots(walk.whole(id_))
    if not roots:
        raise UsageError(
            f"nothing in the lake is called {id_!r}; list ids with `clawgym sql`, e.g. of the table attempts"
        )
    return Explanation(id_, tuple(roots))


class _Walk:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._seen: set[tuple[str, tuple[Json, ...]]] = set()
        self._path: list[tuple[str, tuple[Json, ...]]] = []

    def roots(self, id_: str) -> list[Node]:
        """The rows called `id_`, in the first table that has any, each with its origins."""
        name, _, version = id_.partition("@")
        for table, column in IDENTITIES:
            on = [(column, id_)]
            rows = self._find(table, on)
            if not rows and version and table == "tasks":
                on = [("task_id", name), ("task_version", version)]
                rows = self._find(table, on)
            if rows:
                return self._nodes(Edge("", table, table, ()), on, rows)
        return []

    def whole(self, beginning: str) -> str:
        """The one id that begins so; the beginning itself where it is short or there is none.

        Raises:
            UsageError: several ids begin so.
        """
        if len(beginning) < _SHORTEST:
            return beginning
        for table, column in IDENTITIES:
            query = (
                f"select distinct {quote(column)} as id from {quote(table)} where starts_with({quote(column)}, $1)"  # noqa: S608 - quoted
                " order by 1 limit 4"
            )
            ids = [str(row["id"]) for row in self._query(table, query, [beginning])]
            if len(ids) > 1:
                raise UsageError(f"{beginning!r} is the beginning of {', '.join(ids[:3])}…; give more of it")
            if ids:
                return ids[0]
        return beginning

    def _find(self, table: str, on: Sequence[tuple[str, Json]]) -> list[dict[str, Json]]:
        where = " and ".join(f"{quote(column)} = ${i + 1}" for i, (column, _) in enumerate(on))
        order = ", ".join(quote(column) for column in TABLES[table].key)
        query = f"select * from {quote(table)} where {where} order by {order} limit {_EXPANDED + 1}"  # noqa: S608 - quoted
        return self._query(table, query, [value for _, value in on])

    def _query(self, table: str, query: str, params: list[Json]) -> list[dict[str, Json]]:
        try:
            found = self._reader.cursor([table]).execute(query, params)
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        except (LakeError, duckdb.Error):
            return []  # an unreadable table finds nothing; `verify` says why

    def _nodes(self, edge: Edge, on: Sequence[tuple[str, Json]], rows: list[dict[str, Json]]) -> list[Node]:
        key = TABLES[edge.target].key
        # What points back at where one comes from says nothing new.
        new = [row for row in rows[:_EXPANDED] if (edge.target, tuple(row[c] for c in key)) not in self._path]
        shown = [self._node(edge, row) for row in new]
        if len(rows) > _EXPANDED:
            note = f"more rows of {edge.target}; only the first {_EXPANDED} are shown"
            shown.append(Node(edge.label, edge.target, dict(on), note=note))
        return shown

    def _node(self, edge: Edge, row: dict[str, Json]) -> Node:
        key = {column: row[column] for column in TABLES[edge.target].key}
        node = Node(edge.label, edge.target, key)
        identity = (edge.target, tuple(key.values()))
        if identity in self._seen:
            node.note = "shown above"
            return node
        self._seen.add(identity)
        node.facts = {name: row[name] for name in FACTS[edge.target] if name in row and row[name] is not None}
        if edge.target == "raw_records":
            node.note = f"{row['raw_size']} bytes at {row['position']} of {row['source_path']}"
        self._path.append(identity)
        for onward in edges_of(edge.target):
            node.children += self._follow(onward, row)
        self._path.pop()
        return node

    def _follow(self, edge: Edge, row: dict[str, Json]) -> list[Node]:
        values = [row.get(source) for source, _ in edge.on]
        if any(value is None for value in values):
            return []
        if isinstance(values[0], list):
            found: list[Node] = []
            for value in values[0]:
                found += self._follow(edge, {**row, edge.on[0][0]: value})
            return found
        on = [(target, value) for (_, target), value in zip(edge.on, values, strict=True)]
        if edge.target in SUMMARIES and (edge.summarised or not _is_one(edge)):
            return self._summary(edge, on)
        rows = self._find(edge.target, on)
        if not rows:
            if edge.optional:
                return []
            return [Node(edge.label, edge.target, dict(on), note="not found", found=False)]
        return self._nodes(edge, on, rows)

    def _summary(self, edge: Edge, on: Sequence[tuple[str, Json]]) -> list[Node]:
        """Rows of a table that is only ever shown as a group."""
        key, select = SUMMARIES[edge.target]
        where = " and ".join(f"{quote(column)} = ${i + 1}" for i, (column, _) in enumerate(on))
        columns = ", ".join(quote(column) for column in key)
        query = (
            f"select {columns}, {select} from {quote(edge.target)} where {where} group by {columns} order by {columns}"  # noqa: S608 - code
        )
        rows = self._query(edge.target, query, [value for _, value in on])
        if not rows and not edge.optional:
            return [Node(edge.label, edge.target, dict(on), note="not found", found=False)]
        return [
            Node(edge.label, edge.target, {name: row.pop(name) for name in key}, row, note=f"{row.pop('rows')} rows")
            for row in rows
        ]


def _is_one(edge: Edge) -> bool:
    """Whether an edge leads to at most one row."""
    targets = [target for _, target in edge.on]
    return set(TABLES[edge.target].key) <= set(targets) or any((edge.target, target) in UNIQUE for target in targets)


def _render(node: Node, lead: str, branch: str, lines: list[str], *, full: bool) -> None:
    key = " ".join(f"{_short(value)}" for value in node.key.values())
    facts = ", ".join(f"{name}={_short(value)}" for name, value in node.facts.items())
    label = f"{node.label}: " if node.label else ""
    note = f" [{node.note}]" if node.note else ""
    lines.append(f"{lead}{branch}{label}{node.table} {key}{note}{f'  ({facts})' if facts else ''}")
    below = lead + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
    shown = list(_shown(node.children, full=full))
    for i, (child, more) in enumerate(shown):
        last = i == len(shown) - 1
        _render(child, below, "└─ " if last and not more else "├─ ", lines, full=full)
        if more:
            lines.append(f"{below}{'└─ ' if last else '├─ '}{child.label}: … and {more} more like it (--full)")


def _shown(children: Sequence[Node], *, full: bool) -> Iterator[tuple[Node, int]]:
    """Children to show, each with how many like it behind it are not; one that holds something missing is shown."""
    for (label, _), alike in groupby(children, key=lambda child: (child.label, child.table)):
        group = list(alike)
        if full or not label or len(group) <= _ALIKE:
            yield from ((child, 0) for child in group)
            continue
        kept = [group[0], *(child for child in group[1:] if _lacks(child))]
        yield from ((child, 0) for child in kept[:-1])
        yield kept[-1], len(group) - len(kept)


def _lacks(node: Node) -> bool:
    return not node.found or any(_lacks(child) for child in node.children)


def _short(value: Json) -> str:
    text = str(_plain(value)).replace("\n", " ")
    return text if len(text) <= 72 else f"{text[:69]}…"


def _plain(value: Json) -> Json:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
