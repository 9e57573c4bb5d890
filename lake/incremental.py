"""Building a projection by groups: which groups changed, making those, and writing their rows and no others.

A build compares the digest of each group's inputs with the one its state table holds, makes the groups that differ and
those they disturb (`claims`), and replaces their rows in each table by one commit a table. Tables cannot be committed
together, so the groups are first marked in the state table: after a kill, what is marked is made again, whatever the
tables hold of it by then. Without a usable state all groups are made and the tables are written whole, by the same
code. Does not belong here: what a group is, or makes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lake import crash
from lake.claims import Index
from lake.digest import ENCODING, Sum, table_digest
from lake.errors import LakeError
from lake.grouping import GROUP, Group, Grouping, chunks
from lake.ids import canonical, sha256_hex
from lake.projection import Projection, View, last_build
from lake.reader import Reader
from lake.schema import TABLES
from lake.spill import Spill
from lake.store import Store

_MARKED: Final = ""
"""Inputs of a group whose rows are being replaced."""

WHOLE_FROM = 3
"""One in so many groups to be made, and all are: rewriting most of a table costs more than writing it."""


@dataclass(frozen=True)
class _State:
    """The groups as of the last build."""

    rows: pa.Table
    among: tuple[str, ...] = ()
    """Fingerprints the tables may have been built from."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Outcome:
    """What was written of each table."""

    rows: dict[str, int] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    made: int = 0
    """Groups made."""


def build_groups(
    store: Store, projection: Projection, grouping: Grouping, reader: Reader, inputs: str, *, whole: bool
) -> Outcome:
    """Bring the tables of a grouping up to date with one state of the lake.

    Args:
        store: where the tables are written.
        projection: the projection the grouping belongs to.
        grouping: the grouping.
        reader: the state that is read.
        inputs: fingerprint of that state.
        whole: make all groups anew, whatever the state table says.

    Raises:
        LakeError: rows break the schema or the key.
    """
    view = View(reader, projection)
    plan = grouping.plan(view)
    state = _empty(grouping) if whole else _state(store, projection, grouping, reader)
    present = {group.group_id: group for group in plan}
    if len(present) != len(plan):
        raise LakeError(f"projection {projection.name}: two groups have the same id")
    todo = {id_ for id_, group in present.items() if state.inputs.get(id_) != group.inputs}
    gone = state.inputs.keys() - present.keys()
    if len(todo) * WHOLE_FROM > len(plan):
        state, todo, gone = _empty(grouping), set(present), set()
    index = Index(reader, grouping.claims, state.places, todo | gone)
    with Spill(store.root, grouping.tables) as spill:
        _make(view, grouping, [group for group in plan if group.group_id in todo], index, spill)
        if more := index.disturbed():
            _make(view, grouping, [group for group in plan if group.group_id in more], index, spill)
            todo |= more
        _check_owners(reader, grouping, spill, todo | gone, anything=bool(state.places))
        return _write(store, projection, grouping, state, [present[id_] for id_ in sorted(todo)], gone, spill, inputs)


def _make(view: View, grouping: Grouping, groups: Sequence[Group], index: Index, spill: Spill) -> None:
    claims = _Recorded(index)
    for made in grouping.make(view, chunks(groups), claims):
        for group, rows in made:
            held = claims.held.pop(group.group_id, {})
            rows[grouping.claims] = [{"holder": holder, "identity": identity} for identity, holder in held.items()]
        spill.add(made)


class _Recorded:
    """Claims that are written down on their way to the index."""

    def __init__(self, index: Index) -> None:
        self.look_up = index.look_up
        self._index = index
        self.held: dict[str, dict[str, str]] = {}
        """By group: the first holder of each identity."""

    def claim(self, group: Group, held: Sequence[tuple[str, str]]) -> dict[str, str]:
        first = self.held.setdefault(group.group_id, {})
        for holder, identity in held:
            first.setdefault(identity, holder)
        return self._index.claim(group, held)


# --- the state -----------------------------------------------------------------------------------------------


def _empty(grouping: Grouping) -> _State:
    return _State(TABLES[grouping.state].arrow.empty_table())


def _state(store: Store, projection: Projection, grouping: Grouping, reader: Reader) -> _State:
    """The state that the tables were written by; empty where they were not all written by these rules."""
    last = last_build(store, grouping.state, reader.version(grouping.state))
    if last.get("rules") != rules_of(projection):
        return _empty(grouping)
    among = tuple(json.loads(last["among"])) if "among" in last else (str(last["inputs"]),)
    for name in grouping.tables:
        if last_build(store, name, reader.version(name)).get("inputs") not in among:
            return _empty(grouping)
    rows = reader.table(grouping.state)
    ids, inputs, places = (rows.column(name).to_pylist() for name in (GROUP, "inputs", "place"))
    return _State(rows, among, dict(zip(ids, inputs, strict=True)), dict(zip(ids, places, strict=True)))


def rules_of(projection: Projection) -> str:
    """Digest of what decides about rows beside the log: rule versions, columns, digest encoding."""
    schema = {name: str(TABLES[name].arrow) for name in projection.outputs}
    return sha256_hex(canonical([projection.name, projection.version, projection.rules, schema, ENCODING]))


def _state_rows(groups: Sequence[Group], sums: Mapping[str, Sequence[Sum]], *, marked: bool) -> list[dict[str, object]]:
    return [
        {
            GROUP: group.group_id,
            "place": group.place,
            "inputs": _MARKED if marked else group.inputs,
            "row_counts": [part.rows for part in sums[group.group_id]],
            "row_sums": [f"{part.total:064x}" for part in sums[group.group_id]],
        }
        for group in groups
    ]


def _totals(grouping: Grouping, state: pa.Table) -> dict[str, Sum]:
    """The sum of each table over all groups."""
    totals = [Sum() for _ in grouping.tables]
    counts, sums = state.column("row_counts").to_pylist(), state.column("row_sums").to_pylist()
    for group_counts, group_sums in zip(counts, sums, strict=True):
        for number, (rows, total) in enumerate(zip(group_counts, group_sums, strict=True)):
            if rows:
                totals[number] += Sum(rows, int(total, 16))
    return dict(zip(grouping.tables, totals, strict=True))


# --- writing -------------------------------------------------------------------------------------------------


def _check_owners(reader: Reader, grouping: Grouping, spill: Spill, replaced: set[str], *, anything: bool) -> None:
    """Refuse keys of rows that stay."""
    if not anything:
        return
    for name in grouping.tables:
        first = TABLES[name].key[0]
        cursor = reader.cursor([name])
        cursor.register("made", pa.table({first: pa.array(sorted(spill.owners(name)), pa.string())}))
        cursor.register("replaced", pa.table({GROUP: pa.array(sorted(replaced), pa.string())}))
        query = f"select {first} from {name} semi join made using ({first}) anti join replaced using ({GROUP}) limit 1"  # noqa: S608 - names of the schema
        if row := cursor.execute(query).fetchone():
            raise LakeError(
                f"table {name}: key {TABLES[name].key} is not unique: {first} {row[0]} belongs to two groups"
            )


def _write(
    store: Store,
    projection: Projection,
    grouping: Grouping,
    state: _State,
    made: Sequence[Group],
    gone: set[str],
    spill: Spill,
    inputs: str,
) -> Outcome:
    replaced = {group.group_id for group in made} | gone
    kept = state.rows.filter(pc.invert(pc.is_in(state.rows.column(GROUP), pa.array(sorted(replaced), pa.string()))))
    schema = TABLES[grouping.state].arrow
    present = pa.Table.from_pylist(_state_rows(made, spill.sums, marked=False), schema=schema)
    complete = pa.concat_tables([kept.cast(schema), present]).sort_by([(GROUP, "ascending")])
    common = {"projection": f"{projection.name}@{projection.version}", "rules": rules_of(projection)}
    touched = sorted(replaced) if replaced & state.inputs.keys() else []  # only new groups: nothing goes out
    if state.places and replaced:
        _mark(store, grouping, state, kept, made, gone, {**common, "among": json.dumps([*state.among, inputs])})
    outcome = Outcome(made=len(made))
    for name, total in _totals(grouping, complete).items():
        outcome.rows[name], outcome.digests[name] = total.rows, total.digest(name)
        said = {**common, "inputs": inputs, "digest": outcome.digests[name], "rows": str(total.rows)}
        crash.point("build.before_write")
        if state.places:
            any_rows = any(sums[grouping.tables.index(name)].rows for sums in spill.sums.values())
            store.replace(name, spill.rows(name) if any_rows else None, GROUP, touched, _metadata(said))
        else:
            store.overwrite_by_file(name, spill.runs(name), _metadata(said))
        crash.point("build.after_write")
    digest = table_digest(grouping.state, complete)
    outcome.rows[grouping.state], outcome.digests[grouping.state] = complete.num_rows, digest
    said = {**common, "inputs": inputs, "digest": digest, "rows": str(complete.num_rows)}
    store.overwrite(grouping.state, complete, _metadata(said))
    return outcome


def _mark(
    store: Store,
    grouping: Grouping,
    state: _State,
    kept: pa.Table,
    made: Sequence[Group],
    gone: set[str],
    said: Mapping[str, str],
) -> None:
    """State which groups' rows are no longer, or not yet, what their inputs say."""
    nothing = {id_: [Sum() for _ in grouping.tables] for id_ in [*(group.group_id for group in made), *gone]}
    past = [Group(id_, state.places[id_], _MARKED, 0) for id_ in sorted(gone)]
    schema = TABLES[grouping.state].arrow
    marked = pa.Table.from_pylist(_state_rows([*made, *past], nothing, marked=True), schema=schema)
    rows = pa.concat_tables([kept.cast(schema), marked]).sort_by([(GROUP, "ascending")])
    store.overwrite(grouping.state, rows, _metadata(said))
    crash.point("groups.after_mark")


def _metadata(said: Mapping[str, str]) -> dict[str, str]:
    return {f"clawgym.{key}": value for key, value in said.items()}
