"""Running projections: the rule that decides when, and the writing of what they give.

Belongs here: builds, whole or by group (`incremental`). Does not belong here: the contract (`projection`), comparing
tables (`replay`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pyarrow as pa

from lake import crash
from lake.conform import Conformed, conform_stream
from lake.durable import file_lock
from lake.errors import LakeError
from lake.incremental import build_groups
from lake.projection import Built, Projection, View, fingerprint
from lake.reader import Reader
from lake.spool import effects_forbidden
from lake.store import Store

if TYPE_CHECKING:
    from lake.lake import Lake


def build(lake: Lake, projection: Projection, *, force: bool = False) -> Built:
    """Bring a projection's tables up to date; does nothing when its inputs did not change.

    Two builds of one projection wait for each other. What is read is one state of the lake, the one whose
    fingerprint is recorded: events that arrive meanwhile are for the next build.

    Args:
        lake: the lake.
        projection: the projection.
        force: write everything anew, unchanged groups of inputs as well.

    Raises:
        LakeError: the projection gave other tables than it declares, or rows that break the schema or the key.
    """
    with file_lock(lake.root / "locks" / f"build.{projection.name}.lock"):
        reader = lake.now()
        inputs = fingerprint(lake, projection, reader)
        records = {name: lake.build_record(name) for name in projection.outputs}
        if not force and all(record.get("inputs") == inputs for record in records.values()):
            return Built(
                projection.name,
                True,
                {name: int(record["rows"]) for name, record in records.items()},
                {name: str(record["digest"]) for name, record in records.items()},
            )
        return rebuild(lake.store, projection, reader, inputs, whole=force)


def rebuild(store: Store, projection: Projection, reader: Reader, inputs: str, *, whole: bool = True) -> Built:
    """Run a projection over one state of the lake and write its tables, with effects forbidden.

    Args:
        store: where the tables are written.
        projection: the projection.
        reader: the state that is read.
        inputs: fingerprint of that state.
        whole: write everything anew; else groups whose inputs are those of the last build stay as they are.

    Raises:
        LakeError: it gave other tables than it declares, or rows that break the schema or the key.
        ReplayError: it tried an effect.
    """
    token = effects_forbidden.set(True)
    try:
        tables = projection.build(View(reader, projection))
        if set(tables) != set(projection.whole):
            raise LakeError(
                f"projection {projection.name} gave {sorted(tables)} but declares {sorted(projection.whole)}"
            )
        built = _write(store, projection, tables, inputs)
        if projection.grouping is None:
            return built
        groups = build_groups(store, projection, projection.grouping, reader, inputs, whole=whole)
        return Built(
            projection.name, False, {**built.rows, **groups.rows}, {**built.digests, **groups.digests}, groups.made
        )
    finally:
        effects_forbidden.reset(token)


def _write(
    store: Store, projection: Projection, tables: Mapping[str, pa.Table | pa.RecordBatchReader], inputs: str
) -> Built:
    """Check, sort and write what a projection gave; records how it was built in the Delta commit."""
    rows: dict[str, int] = {}
    digests: dict[str, str] = {}
    for name in projection.whole:
        given = tables[name]
        with (
            conform_stream(store.root, name, given)
            if isinstance(given, pa.RecordBatchReader)
            else nullcontext(Conformed.of(name, given)) as ready
        ):
            rows[name], digests[name] = ready.rows, ready.digest
            metadata = {
                "clawgym.projection": f"{projection.name}@{projection.version}",
                "clawgym.inputs": inputs,
                "clawgym.digest": ready.digest,
                "clawgym.rows": str(ready.rows),
            }
            crash.point("build.before_write")
            store.overwrite(name, ready.data, metadata)
            crash.point("build.after_write")
    return Built(projection.name, False, rows, digests)
