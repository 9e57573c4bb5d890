"""Forget: take a source out of the lake on purpose. The one exception to "the pipeline never deletes".

What stays is a tombstone in the log: how much there was, its digests, who took it out and why. Earlier snapshots can
no longer be read where they held it, since its bytes are really gone.
Does not belong here: upkeep that changes no row (`compact`), and removing files (`leftovers`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from deltalake.exceptions import CommitFailedError

from lake import leftovers
from lake.commit import commit, committing
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
class Source:
    """What the lake holds of a source, for somebody who is about to forget it."""

    source_id: str
    kinds: tuple[str, ...]
    paths: tuple[str, ...]
    """Where its records were read from. Those files are the user's and stay."""
    sessions: tuple[str, ...]
    attempts: tuple[str, ...]
    records: int
    bytes: int
    related: tuple[str, ...]
    """Other sources of the same session or attempt: they may tell the same, and stay."""
    begun: bool
    """An earlier call stated that it is to be forgotten; another one goes on where that stopped."""


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
    unfinished: int
    """Files that a writer killed within the last hour may have left unfinished, or that one is writing now. They may
    hold some of it; a later call removes them."""

    def to_json(self) -> Json:
        """As plain data."""
        return asdict(self)


def find_source(lake: Lake, wanted: str) -> Source:
    """The source whose id is `wanted`, or the only one whose id begins so.

    Raises:
        UsageError: there is none, or several begin so.
    """
    begun = {event.stream_id for event in lake.events(FORGOTTEN, stream_kind=FORGET)}
    query = "select distinct source_id from raw_records where starts_with(source_id, $wanted)"
    there = {str(row[0]) for row in lake.now().fetch("raw_records", query, {"wanted": wanted})}
    found = sorted(there | {source_id for source_id in begun if source_id.startswith(wanted)})
    if wanted in found:
        found = [wanted]
    if not wanted or not found:
        raise UsageError(f"there is no source {wanted!r} in the lake; see `clawgym sql 'from sources'`")
    if len(found) > 1:
        raise UsageError(
            f"{wanted!r} is the beginning of {len(found)} sources: {', '.join(found[:3])}; give more of it"
        )
    return _describe(lake, found[0], found[0] in begun)


def _describe(lake: Lake, source_id: str, begun: bool) -> Source:
    reader = lake.now()
    ((kinds, paths, sessions, attempts, records, size),) = reader.fetch(
        "raw_records",
        "select list(distinct source_kind), list(distinct source_path),"
        " list(distinct session_id) filter (session_id is not null),"
        " list(distinct attempt_id) filter (attempt_id is not null), count(*), coalesce(sum(raw_size), 0)::bigint"
        " from raw_records where source_id = $source",
        {"source": source_id},
    )
    related = reader.fetch(
        "raw_records",
        "select distinct source_id from raw_records where source_id != $source"
        " and (session_id in (select unnest($sessions)) or attempt_id in (select unnest($attempts))) order by all",
        {"source": source_id, "sessions": sessions or [], "attempts": attempts or []},
    )
    return Source(
        source_id,
        kinds=tuple(sorted(kinds or ())),
        paths=tuple(sorted(paths or ())),
        sessions=tuple(sorted(sessions or ())),
        attempts=tuple(sorted(attempts or ())),
        records=int(records),
        bytes=int(size),
        related=tuple(str(row[0]) for row in related),
        begun=begun,
    )


def forget(lake: Lake, source_id: str, *, reason: str, actor: str, projections: Iterable[Projection] = ()) -> Forgotten:
    """Take every version of a source out of the lake. Safe to run again after a kill: it goes on where it stopped.

    Args:
        lake: the lake.
        source_id: the source, as in `raw_records.source_id`.
        reason: why, for the tombstone.
        actor: who, for the tombstone.
        projections: the present rules; every table they make is built anew.

    Raises:
        UsageError: there is no such source, or an attempt that still runs writes it.
    """
    if effects_forbidden.get():
        raise ReplayError("a projection tried to forget a source; projections must be pure functions of the log")
    begun = _tombstone(lake, source_id) or {}
    attempts = sorted({*_over_attempts(lake, source_id), *begun.get("attempts", ())})
    lake.commit()
    with committing(lake.store):  # nobody names a blob between the look and its removal
        tombstone = _tombstone(lake, source_id)
        if tombstone is None:
            tombstone = _state(lake, source_id, reason, actor, attempts)
        blobs = sorted(_unnamed(lake, source_id, {entry["sha256"]: entry["size"] for entry in tombstone["blobs"]}))
        _delete(lake, "raw_records", [f"source_id = {literal(source_id)}"])
        _delete(lake, "blobs", _any_of(blobs))
        leftovers.remove_objects(lake.root, blobs)
    leftovers.remove_attempts(lake.root, attempts)
    ordered = in_order(list(projections))
    rebuilt = [name for projection in ordered for name in lake.build(projection).rows]
    unfinished = leftovers.wipe(lake.store, ("raw_records", "blobs"), ordered)
    return Forgotten(
        source_id,
        sum(version["records"] for version in tombstone["versions"]),
        sum(version["bytes"] for version in tombstone["versions"]),
        len(tombstone["blobs"]),
        tuple(tombstone["checkpoints"]),
        tuple(rebuilt),
        unfinished,
    )


def _over_attempts(lake: Lake, source_id: str) -> list[str]:
    """The attempts of ours that the source tells of; their folders, where still there, hold its bytes too."""
    query = "select distinct attempt_id from raw_records where source_id = $source and attempt_id is not null"
    attempts = sorted(str(row[0]) for row in lake.now().fetch("raw_records", query, {"source": source_id}))
    over = lake.streams("attempt", ("attempt.ended", "attempt.lost")) if attempts else set()
    for attempt in attempts:
        if attempt not in over and leftovers.attempt_folder(lake.root, attempt).exists():
            raise UsageError(
                f"attempt {attempt}, which source {source_id} tells of, has not ended; wait for it, or run"
                " `clawgym rollouts reap` if its runner is dead"
            )
    return attempts


def _tombstone(lake: Lake, source_id: str) -> Json:
    """The tombstone that an earlier call left, if any."""
    for event in lake.events(FORGOTTEN, stream_kind=FORGET):
        if event.stream_id == source_id:
            return event.payload
    return None


def _state(lake: Lake, source_id: str, reason: str, actor: str, attempts: Sequence[str]) -> dict[str, Json]:
    """Write the tombstone before anything goes: once the rows went, only it knows the attempts and blobs."""
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
        "attempts": list(attempts),
        "blobs": [{"sha256": sha, "size": size} for sha, size in sorted(_unnamed(lake, source_id).items())],
        "checkpoints": _trained_on(lake, source_id),
    }
    with lake.spool(actor) as spool:
        spool.stream(FORGET, source_id).emit(FORGOTTEN, payload)
    commit(lake.store, locked=False)
    return payload


def _unnamed(lake: Lake, source_id: str, among: Mapping[str, int] | None = None) -> dict[str, int]:
    """Contents that go with a source, by size: large records of it that nothing else names, and such as nothing at
    all names since the writer that stored them was killed.

    Args:
        lake: the lake.
        source_id: the source.
        among: those that an earlier call found; something may have come to name them since.
    """
    reader = lake.now()
    query = "select raw_blob, bool_or(source_id != $source) from raw_records where raw_blob is not null group by all"
    recorded: dict[str, bool] = dict(reader.fetch("raw_records", query, {"source": source_id}))
    if among is None:
        query = "select sha256, size, stored_at < now() - $hours * interval '1 hour' from blobs"
        stored = reader.fetch("blobs", query, {"hours": leftovers.UNFINISHED_HOURS})
        left = {str(sha): int(size) for sha, size, old in stored if not recorded.get(sha, not old)}
    else:
        left = {sha: size for sha, size in among.items() if not recorded.get(sha, False)}
    cursor = reader.cursor(["events"])
    cursor.execute("select payload, payload_blob from events where type != $forgotten", {"forgotten": FORGOTTEN})
    while left and (rows := cursor.fetchmany(10_000)):
        for payload, blob in rows:
            text = payload if payload is not None else reader.blob(blob).decode("utf-8", "surrogatepass")
            for sha in (*_SHA.findall(text), blob):
                left.pop(sha, None)
    return left


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


def _any_of(shas: Sequence[str]) -> Iterator[str]:
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
