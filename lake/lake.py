"""The facade: one object that opens a lake and hands out its parts.

Belongs here: opening, reading, and delegation. Does not belong here: rules (they live in the modules it delegates to).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from lake import commit as _commit
from lake import projection as _projection
from lake.engine import connect
from lake.errors import LakeError, UsageError
from lake.ids import Json, canonical, sha256_hex, utc_now
from lake.schema import TABLES
from lake.schema.log import SNAPSHOTS
from lake.settings import LAKE_FORMAT, lake_root
from lake.spool import Spool
from lake.store import Store


class Lake:
    """An opened lake."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = Store(root)
        self._builds: dict[str, dict[str, Json]] = {}
        self._blobs: dict[str, tuple[int, dict[str, Json]]] = {}

    # --- writing ---------------------------------------------------------------------------------------------

    def spool(self, actor: str, run_id: str | None = None) -> Spool:
        """A new durable spool for this process. Close it, then `commit`."""
        return Spool(self.root, actor=actor, run_id=run_id)

    def commit(self) -> _commit.Committed:
        """Bring every sealed or abandoned spool into the log, exactly once."""
        return _commit.commit(self.store)

    def build(self, projection: _projection.Projection, *, force: bool = False) -> _projection.Built:
        """Bring a projection's tables up to date."""
        return _projection.build(self, projection, force=force)

    def snapshot(self, reason: str, run_id: str | None = None) -> str:
        """Record what the lake knows now; returns the snapshot id. The same state gives no second row in a row."""
        versions = {name: self.store.version(name) for name in TABLES if name != "snapshots"}
        now = utc_now()
        text = canonical(versions)
        snapshot_id = f"{now:%Y%m%dT%H%M%SZ}-{sha256_hex(text)[:16]}"
        row = {"snapshot_id": snapshot_id, "recorded_at": now, "run_id": run_id, "reason": reason, "versions": text}
        self.store.append("snapshots", pa.Table.from_pylist([row], schema=SNAPSHOTS.arrow), {uuid.uuid4().hex: 0})
        return snapshot_id

    # --- reading ---------------------------------------------------------------------------------------------

    def table(self, name: str, version: int | None = None) -> pa.Table:
        """A whole table."""
        return self.store.read(name, version)

    def rows(self, name: str) -> list[dict[str, Json]]:
        """A whole (small) table as dicts."""
        return self.table(name).to_pylist()

    def sql(
        self, query: str, params: Sequence[Json] | Mapping[str, Json] | None = None, *, as_of: str | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Run a query over all tables and views; `.df()`, `.arrow()`, `.fetchall()` on what comes back.

        Args:
            as_of: a snapshot id, or a UTC time in ISO 8601 (the latest snapshot recorded not later).
        """
        connection = connect(self.store, None if as_of is None else self.versions_at(as_of))
        return connection.sql(query, params=params)

    def events(self, *types: str, stream_kind: str | None = None) -> Iterator[_projection.Event]:
        """Events by type (all when none is given), ordered by (stream_kind, stream_id, seq)."""
        connection = connect(self.store, views=False)
        relation = connection.execute(
            "select * exclude (recorded_at, run_id) from events"
            " where (len($types) = 0 or type in (select unnest($types))) and ($kind is null or stream_kind = $kind)"
            " order by stream_kind, stream_id, seq",
            {"types": list(types), "kind": stream_kind},
        )
        names = [d[0] for d in relation.description or ()]
        while rows := relation.fetchmany(4096):
            for row in rows:
                yield self._event(dict(zip(names, row, strict=True)))

    def _event(self, row: dict[str, Json]) -> _projection.Event:
        text = (
            row["payload"]
            if row["payload"] is not None
            else self.blob(row["payload_blob"]).decode("utf-8", "surrogatepass")
        )
        return _projection.Event(
            row["event_id"], row["stream_kind"], row["stream_id"], row["seq"], row["type"], row["type_version"],
            row["occurred_at"], row["caused_by"], row["actor"], json.loads(text),
        )  # fmt: skip

    def streams(self, kind: str, terminal: Sequence[str] = ()) -> set[str]:
        """Ids of the streams of a kind that are in the log; with `terminal`, only those holding such an event type.

        This is how an effect finds out that it was done: it never repeats a key that is in here.
        """
        connection = connect(self.store, views=False)
        found = connection.execute(
            "select distinct stream_id from events where stream_kind = $kind"
            " and (len($terminal) = 0 or type in (select unnest($terminal)))",
            {"kind": kind, "terminal": list(terminal)},
        ).fetchall()
        return {row[0] for row in found}

    def event_counts(self, types: Sequence[str]) -> dict[str, int]:
        """Number of events of each type."""
        connection = connect(self.store, views=False)
        found = connection.execute(
            "select type, count(*) from events where type in (select unnest($types)) group by type order by type",
            {"types": list(types)},
        ).fetchall()
        return dict(found)

    def raw_records(self, where: str = "true", params: Sequence[Json] | None = None) -> pa.Table:
        """Raw records by an SQL condition over `raw_records`, ordered by (source_id, version, position)."""
        connection = connect(self.store, views=False)
        query = f"select * from raw_records where {where} order by source_id, version, position"  # noqa: S608 - code, not input
        return connection.execute(query, list(params or ())).fetch_arrow_table()

    def raw_fingerprint(self) -> list[Json]:
        """Number of raw records and of source versions; changes whenever either grows."""
        connection = connect(self.store, views=False)
        row = connection.execute("select count(*), count(distinct (source_id, version)) from raw_records").fetchone()
        return list(row or ())

    def blob(self, sha256: str) -> bytes:
        """Content of a blob.

        Raises:
            LakeError: the log does not hold it.
        """
        connection = connect(self.store, views=False)
        row = connection.execute("select data, object_path from blobs where sha256 = $1", [sha256]).fetchone()
        if row is None:
            raise LakeError(f"blob {sha256} is not in {self.root}; was it forgotten? see `clawgym lake status`")
        return bytes(row[0]) if row[0] is not None else (self.root / "objects" / str(row[1])).read_bytes()

    def build_record(self, name: str) -> dict[str, Json]:
        """How a projection table was last built: inputs, digest, rows, projection; empty when never."""
        if name not in self._builds:
            self._builds[name] = _projection.parse_metadata(self.store.delta(name).history())
        return self._builds[name]

    def forget_build_record(self, name: str) -> None:
        """Drop the cached build record of a table after writing it."""
        self._builds.pop(name, None)

    def versions_at(self, as_of: str) -> dict[str, int]:
        """Table versions of a snapshot id, or of the latest snapshot not later than a UTC time.

        Raises:
            UsageError: there is no such snapshot.
        """
        rows = sorted(self.rows("snapshots"), key=lambda row: row["recorded_at"])
        for row in rows:
            if row["snapshot_id"] == as_of:
                return dict(json.loads(row["versions"]))
        try:
            when = datetime.fromisoformat(as_of.replace("Z", "+00:00"))
        except ValueError as error:
            raise UsageError(
                f"{as_of!r} is neither a snapshot id nor an ISO time; see `clawgym lake snapshots`"
            ) from error
        if when.tzinfo is None:
            when = when.replace(tzinfo=utc_now().tzinfo)
        earlier = [row for row in rows if row["recorded_at"] <= when]
        if not earlier:
            raise UsageError(f"no snapshot at or before {as_of}; see `clawgym lake snapshots`")
        return dict(json.loads(earlier[-1]["versions"]))


def open(path: str | Path | None = None, *, create: bool = True) -> Lake:  # noqa: A001 - lake.open() is the public name
    """Open the lake at `path` (else `CLAWGYM_LAKE`, else `./data/lake`), creating it where there is nothing.

    Raises:
        LakeError: the folder holds something else, a newer format, or nothing and `create` is false.
    """
    root = lake_root(path)
    marker = root / "lake.json"
    if marker.exists():
        try:
            found = json.loads(marker.read_text())
            lake_format = int(found["lake_format"])
        except (ValueError, KeyError, TypeError) as error:
            raise LakeError(
                f"{marker} cannot be read ({error}); restore it or choose another folder with CLAWGYM_LAKE"
            ) from error
        if lake_format > LAKE_FORMAT:
            raise LakeError(
                f"{root} has lake format {lake_format}, this version reads up to {LAKE_FORMAT}; upgrade clawgym"
            )
    elif root.exists() and any(root.iterdir()):
        raise LakeError(f"{root} is not empty and not a lake (no lake.json); choose another folder with CLAWGYM_LAKE")
    elif not create:
        raise LakeError(f"there is no lake in {root}; run `make demo` or set CLAWGYM_LAKE")
    lake = Lake(root)
    root.mkdir(parents=True, exist_ok=True)
    if not marker.exists():
        temporary = root / "lake.json.tmp"
        temporary.write_text(canonical({"lake_format": LAKE_FORMAT, "lake_id": uuid.uuid4().hex}) + "\n")
        temporary.rename(marker)
    lake.store.ensure()
    return lake
