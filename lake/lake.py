"""The facade: one object that hands out the parts of a lake.

Belongs here: reading, writing, and delegation. Does not belong here: rules (they live in the modules it delegates to).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from lake import building as _building
from lake import commit as _commit
from lake import projection as _projection
from lake import raw as _raw
from lake import snapshots as _snapshots
from lake.ids import Json
from lake.reader import Event, Params, Reader
from lake.spool import Spool
from lake.store import Store, TransactionsSince


class Lake:
    """An opened lake (see `lake.open`). Safe to use from several threads; a forked child opens its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = Store(root)
        self._builds: dict[str, tuple[int, dict[str, Json]]] = {}

    # --- writing ---------------------------------------------------------------------------------------------

    def spool(self, actor: str, run_id: str | None = None) -> Spool:
        """A new durable spool for this process. Close it, then `commit`."""
        return Spool(self.root, actor=actor, run_id=run_id)

    def commit(self) -> _commit.Committed:
        """Bring every sealed or abandoned spool into the log, exactly once."""
        return _commit.commit(self.store)

    def build(self, projection: _projection.Projection, *, force: bool = False) -> _projection.Built:
        """Bring a projection's tables up to date."""
        return _building.build(self, projection, force=force)

    def append_raw(
        self,
        source_id: str,
        batch_no: int,
        rows: Sequence[Mapping[str, Json]] | pa.Table,
        blobs: Iterable[bytes] = (),
    ) -> bool:
        """Append one batch of raw records of one version of a source, exactly once; False when it was in already.

        See `lake.raw.append_raw` for what the rows hold.
        """
        return _raw.append_raw(self.store, source_id, batch_no, rows, blobs)

    def append_raw_many(
        self, batches: Sequence[_raw.Batch], *, since: TransactionsSince | None = None
    ) -> list[_raw.Outcome]:
        """Append batches of several sources in one commit, each exactly once; says what became of each.

        See `lake.raw.append_raw_many` for `since`.
        """
        return _raw.append_raw_many(self.store, batches, since=since)

    def put_blobs(self, contents: Iterable[bytes], mime: str = "application/octet-stream") -> list[str]:
        """Store contents directly (not through a spool), each once; returns their sha256 in the same order."""
        return _raw.put_blobs(self.store, contents, mime)

    def snapshot(self, reason: str, run_id: str | None = None) -> str:
        """Record what the lake knows now; returns the snapshot id. Nothing is added when nothing changed since the
        last one, whose id comes back.
        """
        return _snapshots.take(self.store, self.now(), reason, run_id)

    # --- reading ---------------------------------------------------------------------------------------------

    def now(self) -> Reader:
        """A reader of the newest state; each table is pinned when first read."""
        return Reader(self.root, self.store.engines, self.store.place)

    def at(self, as_of: str) -> Reader:
        """A reader of the state at a snapshot id, or at a UTC time in ISO 8601 (the latest snapshot not later).

        A table that did not exist then reads as empty.
        """
        versions = self.versions_at(as_of)
        return Reader(self.root, self.store.engines, lambda name: self.store.place(name, versions.get(name, 0)))

    def table(self, name: str, version: int | None = None) -> pa.Table:
        """A whole table, ordered by its key (or declared order), now or at a Delta version."""
        if version is None:
            return self.now().table(name)
        return Reader(self.root, self.store.engines, lambda n: self.store.place(n, version)).table(name)

    def rows(self, name: str) -> list[dict[str, Json]]:
        """A whole (small) table as dicts."""
        return self.now().rows(name)

    def sql(
        self, query: str, params: Params = None, *, as_of: str | None = None, read_only: bool = False
    ) -> duckdb.DuckDBPyRelation:
        """Run a query over all tables and views; `.df()`, `.to_arrow_table()`, `.fetchall()` on what comes back.

        Args:
            query: SQL; text that comes from a person goes with `read_only`.
            params: a list for `$1` …, or a mapping for `$name`.
            as_of: a snapshot id, or a UTC time in ISO 8601 (the latest snapshot recorded not later).
            read_only: allow queries only, that reach no file outside the lake and change no setting.

        Raises:
            UsageError: `read_only`, and it is not a query; or there is no such snapshot.
        """
        reader = self.now() if as_of is None else self.at(as_of)
        return reader.sql(query, params, read_only=read_only)

    def point(self, name: str, column: str, value: str, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of a table that have one value in the column it is sorted by, at once; see `Reader.point`."""
        return self.now().point(name, column, value, columns)

    def events(self, *types: str, stream_kind: str | None = None) -> Iterator[Event]:
        """Events by type (all when none is given), ordered by (stream_kind, stream_id, seq)."""
        return self.now().events(*types, stream_kind=stream_kind)

    def streams(self, kind: str, terminal: Sequence[str] = ()) -> set[str]:
        """Ids of the streams of a kind that are in the log; with `terminal`, only those holding such an event type.

        This is how an effect finds out that it was done: it never repeats a key that is in here.
        """
        return self.now().streams(kind, terminal)

    def event_counts(self, types: Sequence[str]) -> dict[str, int]:
        """Number of events of each type."""
        return self.now().event_counts(types)

    def raw_records(self, where: str = "true", params: Sequence[Json] | None = None) -> pa.Table:
        """Raw records by an SQL condition over `raw_records`, ordered by (source_id, version, position)."""
        return self.now().raw_records(where, params)

    def raw_fingerprint(self) -> list[Json]:
        """Number of raw records and of source versions; changes whenever either grows."""
        return self.now().raw_fingerprint()

    def blob(self, sha256: str) -> bytes:
        """Content of one blob; use `blobs` for several.

        Raises:
            LakeError: the log does not hold it.
        """
        return self.now().blob(sha256)

    def blobs(self, wanted: Iterable[str]) -> dict[str, bytes]:
        """Contents of blobs by sha256, in few queries.

        Raises:
            LakeError: the log does not hold one of them.
        """
        return self.now().blobs(wanted)

    def build_record(self, name: str) -> dict[str, Json]:
        """How a projection table was last built: inputs, digest, rows, projection; empty when never."""
        version = self.store.version(name)
        found = self._builds.get(name)
        if found is None or found[0] != version:
            found = (version, _projection.build_record(self.store, name, version))
            self._builds[name] = found
        return found[1]

    def versions_at(self, as_of: str) -> dict[str, int]:
        """Table versions of a snapshot id, or of the latest snapshot not later than a UTC time.

        Raises:
            UsageError: there is no such snapshot.
        """
        return _snapshots.versions_at(self.now(), as_of)
