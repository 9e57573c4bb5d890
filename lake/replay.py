"""Replay: rebuild every table beside the live ones from the log alone, and compare.

Belongs here: the rebuild in a scratch folder, the comparison, the report. Does not belong here: repairing anything
(`Lake.build` does), effects (a projection that tries one fails the replay).
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from lake.building import rebuild
from lake.digest import row_hashes, sum_of, table_digest
from lake.errors import LakeError, ReplayError
from lake.ids import Json
from lake.projection import Projection, build_record, fingerprint
from lake.reader import Reader
from lake.schema import TABLES
from lake.store import Store

if TYPE_CHECKING:
    from lake.lake import Lake

Status = Literal["equal", "stale", "different", "missing"]


@dataclass(frozen=True)
class Difference:
    """The first row, in key order, that is not the same."""

    key: dict[str, Json]
    what: str
    """`only live`, `only rebuilt`, or the columns that differ with both values, shortened."""


@dataclass(frozen=True)
class TableResult:
    """How one live table compares with its rebuild."""

    table: str
    projection: str
    """name@version of the rules it was rebuilt by."""
    status: Status
    """`equal`; `stale`: never built, or by older rules or from an older log, build it; `different`: built by the same
    rules from the same log, and yet not the same; `missing`: it cannot be read."""
    rows_live: int | None
    rows_rebuilt: int
    digest_live: str | None
    digest_rebuilt: str
    detail: str
    first: Difference | None = None


@dataclass(frozen=True)
class Report:
    """Outcome of a replay."""

    tables: tuple[TableResult, ...]

    @property
    def ok(self) -> bool:
        """Whether no table is different or missing; stale ones are no fault."""
        return not any(result.status in ("different", "missing") for result in self.tables)

    def check(self) -> None:
        """Raise for what is not ok.

        Raises:
            ReplayError: a table is different or missing.
        """
        bad = [result for result in self.tables if result.status in ("different", "missing")]
        if bad:
            told = "; ".join(f"{result.table} is {result.status}: {result.detail}" for result in bad)
            raise ReplayError(f"{told}. Find what changed the table; building its stage with force writes it anew")

    def to_json(self) -> Json:
        """As plain data."""
        return {"ok": self.ok, "tables": [asdict(result) for result in self.tables]}


def replay(lake: Lake, projections: Iterable[Projection], *, keep: bool = False) -> Report:
    """Rebuild the tables of `projections` in `<lake>/replay/<id>` from one state of the log and compare digests.

    Args:
        lake: the lake; its live tables are only read.
        projections: in any order; an earlier table none of them makes is read live.
        keep: leave the rebuilt tables there.

    Raises:
        ReplayError: a projection tried an effect.
        LakeError: a projection broke its declaration.
    """
    ordered = in_order(list(projections))
    made = {name for projection in ordered for name in projection.outputs}
    live = lake.now()
    scratch = Store(lake.root / "replay" / uuid.uuid4().hex)
    rebuilt = Reader(
        lake.root,
        lake.store.engines,
        lambda name: scratch.place(name) if name in made else live.place(name),
    )
    try:
        scratch.ensure(sorted(made))
        results: list[TableResult] = []
        outdated: set[str] = set()
        for projection in ordered:
            rebuild(scratch, projection, rebuilt, inputs="replay")
            reason = why_stale(lake, projection, live, outdated)
            if reason:
                outdated.update(projection.outputs)
            results += [_compare(lake, projection, name, live, rebuilt, reason) for name in projection.outputs]
        return Report(tuple(results))
    finally:
        if not keep:
            shutil.rmtree(scratch.root, ignore_errors=True)
            _remove_if_empty(scratch.root.parent)


def in_order(projections: Sequence[Projection]) -> list[Projection]:
    """The projections with each behind those whose tables it reads.

    Raises:
        LakeError: they read each other in a circle.
    """
    makers = {name: projection.name for projection in projections for name in projection.outputs}
    left = list(projections)
    done: set[str] = set()
    ordered: list[Projection] = []
    while left:
        ready = [p for p in left if {makers[name] for name in p.tables if name in makers} - {p.name} <= done]
        if not ready:
            raise LakeError(f"projections read each other's tables in a circle: {', '.join(p.name for p in left)}")
        ordered += ready
        done |= {projection.name for projection in ready}
        left = [projection for projection in left if projection.name not in done]
    return ordered


def why_stale(lake: Lake, projection: Projection, live: Reader, outdated: AbstractSet[str] = frozenset()) -> str:
    """Why the live tables of a projection are not those of its present rules and inputs; empty when they are.

    Args:
        lake: the lake.
        projection: the present rules.
        live: the state compared.
        outdated: tables known to be stale themselves.
    """
    rules = f"{projection.name}@{projection.version}"
    records = [build_record(lake.store, name, live.version(name)) for name in projection.outputs]
    if any(not record for record in records):
        return "never built"
    if other := sorted({str(record["projection"]) for record in records} - {rules}):
        return f"built by {', '.join(other)}, the rules are now {rules}"
    if upstream := sorted(set(projection.tables) & outdated):
        return f"it reads {', '.join(upstream)}, which is stale"
    if any(record["inputs"] != fingerprint(lake, projection, live) for record in records):
        return "the log, an earlier table or a rule changed since it was built"
    return ""


def _compare(lake: Lake, projection: Projection, name: str, live: Reader, rebuilt: Reader, stale: str) -> TableResult:
    rules = f"{projection.name}@{projection.version}"
    new = sum_of(name, rebuilt.batches(name))
    digest_new = new.digest(name)
    try:
        # Computed again from the rows: the digest in the build record would not notice a changed file.
        old = sum_of(name, live.batches(name))
    except (LakeError, OSError) as error:
        return TableResult(name, rules, "missing", None, new.rows, None, digest_new, f"cannot be read: {error}")
    digest_old = old.digest(name)
    figures = (old.rows, new.rows, digest_old, digest_new)
    if digest_old == digest_new:
        return TableResult(name, rules, "equal", *figures, stale)
    first = first_difference(name, _by_key(name, live.table(name)), _by_key(name, rebuilt.table(name)))
    if stale:
        return TableResult(name, rules, "stale", *figures, stale, first)
    detail = f"first difference at {first.key}: {first.what}"
    return TableResult(name, rules, "different", *figures, detail, first)


def first_difference(name: str, live: pa.Table, rebuilt: pa.Table) -> Difference:
    """The first differing row of two tables in key order that are not equal."""
    spec = TABLES[name]
    pairs = zip(row_hashes(name, live), row_hashes(name, rebuilt), strict=False)
    shorter = min(live.num_rows, rebuilt.num_rows)
    low = next((number for number, (old_row, new_row) in enumerate(pairs) if old_row != new_row), shorter)
    old = live.slice(low, 1).to_pylist()
    new = rebuilt.slice(low, 1).to_pylist()
    keys = [tuple(row[0][column] for column in spec.key) if row else None for row in (old, new)]
    if keys[0] is not None and keys[1] is not None and keys[0] == keys[1]:
        changed = [c for c in spec.content_columns if _is_other(name, c, live.slice(low, 1), rebuilt.slice(low, 1))]
        what = ", ".join(f"{c}: live {_short(old[0][c])}, rebuilt {_short(new[0][c])}" for c in changed)
        return Difference(dict(zip(spec.key, keys[0], strict=True)), what)
    only_live = keys[1] is None or (keys[0] is not None and keys[0] < keys[1])
    key = keys[0] if only_live else keys[1]
    return Difference(dict(zip(spec.key, key or (), strict=True)), "only live" if only_live else "only rebuilt")


def _is_other(name: str, column: str, live: pa.Table, rebuilt: pa.Table) -> bool:
    swapped = live.set_column(live.column_names.index(column), live.schema.field(column), rebuilt.column(column))
    return table_digest(name, swapped) != table_digest(name, live)


def _by_key(name: str, rows: pa.Table) -> pa.Table:
    return rows.sort_by([(column, "ascending") for column in TABLES[name].key])


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}…"


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return
