"""Forget: take a source out of the lake on purpose. The one exception to "the pipeline never deletes".

What stays is a tombstone in the log: how much there was, its digests, who took it out and why. Earlier snapshots can
no longer be read where they held it, since its bytes are really gone.
Does not belong here: upkeep that changes no row (`compact`).
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from deltalake.exceptions import CommitFailedError

from lake.engine import literal
from lake.errors import LakeError, ReplayError, UsageError
from lake.ids import Json, sha256_hex
from lake.projection import FORGOTTEN, Projection
from lake.raw import FORGET
from lake.replay import in_order
from lake.spool import effects_forbidden
from lake.store import writer

if TYPE_CHECKING:
    from lake.lake import Lake

_SHA = re.compile(r"\b[0-9a-f]{64}\b")
_AT_ONCE: Final = 500
_TURNS: Final = 20


@dataclass(frozen=True)
class Forgotten:
    """What was taken out."""

    source_id: str
    records: int
    bytes: int
    blobs: int
    """Contents that nothing else in the lake names."""
    checkpoints: tuple[str, ...]
    """Checkpoints trained on it: they still hold what they learned from it."""
    rebuilt: tuple[str, ...]
    """Tables built anew without it."""

    def to_json(self) -> Json:
        """As plain data."""
        return asdict(self)


def forget(lake: Lake, source_id: str, *, reason: str, actor: str, projections: Iterable[Projection] = ()) -> Forgotten:
    """Take every version of a source out of the lake. Safe to run again after a kill: it goes on where it stopped.

    Args:
        lake: the lake.
        source_id: the source, as in `raw_records.source_id`.
        reason: why, for the tombstone.
        actor: who, for the tombstone.
        projections: the present rules; every table they make is built anew.

    Raises:
        UsageError: there is no such source.
    """
    if effects_forbidden.get():
        raise ReplayError("a projection tried to forget a source; projections must be pure functions of the log")
    tombstone = _tombstone(lake, source_id)
    if tombstone is None:
        tombstone = _state(lake, source_id, reason, actor)
    blobs = [entry["sha256"] for entry in tombstone["blobs"]]
    _delete(lake, "raw_records", [f"source_id = {literal(source_id)}"])
    _delete(lake, "blobs", _any_of(blobs))
    for sha in blobs:
        (lake.root / "objects" / sha[:2] / sha).unlink(missing_ok=True)
    rebuilt = [name for projection in in_order(list(projections)) for name in lake.build(projection).rows]
    for name in ("raw_records", "blobs", *rebuilt):
        _wipe(lake, name)
    return Forgotten(
        source_id,
        sum(version["records"] for version in tombstone["versions"]),
        sum(version["bytes"] for version in tombstone["versions"]),
        len(blobs),
        tuple(tombstone["checkpoints"]),
        tuple(rebuilt),
    )


def _tombstone(lake: Lake, source_id: str) -> Json:
    """The tombstone that an earlier call left, if any."""
    for event in lake.events(FORGOTTEN, stream_kind=FORGET):
        if event.stream_id == source_id:
            return event.payload
    return None


def _state(lake: Lake, source_id: str, reason: str, actor: str) -> dict[str, Json]:
    """Write the tombstone before anything goes."""
    versions = [
        {"version": version, "records": records, "bytes": size, "sha256": sha256_hex("\n".join(shas))}
        for version, records, size, shas in lake.now().fetch(
            "raw_records",
            "select version, count(*), sum(raw_size)::bigint, list(raw_sha256 order by position) from raw_records"
            " where source_id = $source group by version order by version",
            {"source": source_id},
        )
    ]
    if not versions:
        raise UsageError(f"there is no source {source_id!r} in the lake; see the table sources")
    payload = {
        "source_id": source_id,
        "reason": reason,
        "actor": actor,
        "versions": versions,
        "blobs": _own_blobs(lake, source_id),
        "checkpoints": _trained_on(lake, source_id),
    }
    with lake.spool(actor) as spool:
        spool.stream(FORGET, source_id).emit(FORGOTTEN, payload)
    lake.commit()
    return payload


def _own_blobs(lake: Lake, source_id: str) -> list[dict[str, Json]]:
    """Large records of the source whose content nothing else names."""
    reader = lake.now()
    own = reader.fetch(
        "raw_records",
        "select distinct raw_blob, raw_size from raw_records where source_id = $source and raw_blob is not null"
        " and raw_blob not in (select raw_blob from raw_records where source_id != $source and raw_blob is not null)",
        {"source": source_id},
    )
    sizes: dict[str, int] = {str(sha): int(size) for sha, size in own}
    cursor = reader.cursor(["events"])
    cursor.execute("select payload, payload_blob from events")
    while sizes and (rows := cursor.fetchmany(10_000)):
        for payload, blob in rows:
            text = payload if payload is not None else reader.blob(blob).decode("utf-8", "surrogatepass")
            for sha in (*_SHA.findall(text), blob):
                sizes.pop(sha, None)
    return [{"sha256": sha, "size": size} for sha, size in sorted(sizes.items())]


def _trained_on(lake: Lake, source_id: str) -> list[str]:
    """Checkpoints whose snapshot held training examples from the source."""
    found: list[str] = []
    for row in lake.rows("checkpoints"):
        if row["snapshot_id"] is None:
            continue
        try:
            (count,) = lake.at(row["snapshot_id"]).sql(
                "select count(*) from sft_examples join trajectories using (trajectory_id) where source_id = $source",
                {"source": source_id},
            ).fetchone() or (0,)
        except (LakeError, UsageError):
            continue  # its snapshot went with an earlier source
        if count:
            found.append(row["checkpoint_id"])
    return found


def _any_of(shas: list[str]) -> Iterator[str]:
    for start in range(0, len(shas), _AT_ONCE):
        yield f"sha256 in ({', '.join(literal(sha) for sha in shas[start : start + _AT_ONCE])})"


def _delete(lake: Lake, name: str, predicates: Iterable[str]) -> None:
    for predicate in predicates:
        for turn in range(_TURNS):
            try:
                lake.store.delta(name).delete(predicate, writer_properties=writer(name))
                break
            except CommitFailedError as error:  # another writer came between
                if turn == _TURNS - 1:
                    raise LakeError(f"rows of {name} could not be removed: {error}; run forget again") from error
                time.sleep(0.05 * (turn + 1))


def _wipe(lake: Lake, name: str) -> None:
    """Remove the files of every older version; only those the Delta log says are gone, so no writer is disturbed."""
    table = lake.store.delta(name)
    table.vacuum(0, dry_run=False, enforce_retention_duration=False, keep_versions=[table.version()])
    shutil.rmtree(lake.store.path(name) / "_change_data", ignore_errors=True)
