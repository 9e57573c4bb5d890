"""Verify: recompute what the lake says about itself, and list what does not hold.

Belongs here: integrity of the log and of references into it. Does not belong here: whether tables follow from the log
(`replay`), repairing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import duckdb

from lake.blobs import known
from lake.engine import quote
from lake.errors import LakeError
from lake.ids import Json, event_id, record_key, sha256_hex
from lake.reader import Reader
from lake.schema import TABLES
from lake.settings import MAX_PAYLOAD
from lake.spool import is_orphan, read_segment, spool_folders, takeable

if TYPE_CHECKING:
    from lake.lake import Lake

_LISTED: Final = 20
"""Findings of one kind that are listed; the rest are counted."""


@dataclass(frozen=True)
class Finding:
    """Something that does not hold."""

    check: str
    subject: str
    """The row, file or table concerned."""
    detail: str


@dataclass(frozen=True)
class Check:
    """One check: how much it looked at, how much was wrong."""

    name: str
    looked_at: int
    wrong: int


@dataclass(frozen=True)
class Verification:
    """Outcome of a verification."""

    checks: tuple[Check, ...]
    findings: tuple[Finding, ...]
    """The first findings of each check."""

    @property
    def ok(self) -> bool:
        """Whether everything holds."""
        return all(check.wrong == 0 for check in self.checks)

    def to_json(self) -> Json:
        """As plain data."""
        return {"ok": self.ok, **asdict(self)}


def verify(lake: Lake, *, progress: Callable[[str], None] | None = None) -> Verification:
    """Check the whole lake: files, digests, streams, keys, references.

    Args:
        lake: the lake; nothing in it is changed.
        progress: told the name of each check before it runs.
    """
    reader = lake.now()
    checks: list[Check] = []
    findings: list[Finding] = []
    broken: set[str] = set()
    for name, needs, run in _CHECKS:
        if progress is not None:
            progress(name)
        if broken & set(needs):
            continue  # said already: the table cannot be read
        looked_at = wrong = 0
        for finding in run(lake, reader):
            looked_at += 1
            if finding is None:
                continue
            wrong += 1
            if wrong <= _LISTED:
                findings.append(Finding(name, *finding))
            if name == "tables_open":
                broken.add(finding[0])
        checks.append(Check(name, looked_at, wrong))
    return Verification(tuple(checks), tuple(findings))


Found = tuple[str, str] | None
"""Subject and detail of what is wrong; None for a subject that is right."""


def tables_open(lake: Lake, reader: Reader) -> Iterator[Found]:
    """Every table opens, and every one of its files is there and decodes."""
    for name in TABLES:
        try:
            columns = ", ".join(f"count({quote(column.name)})" for column in TABLES[name].columns)
            # Values are read, not only counted: a count alone is answered from statistics.
            hashed = ", ".join(f"bit_xor(hash({quote(column.name)}))" for column in TABLES[name].columns)
            reader.cursor([name]).execute(f"select {columns}, {hashed} from {quote(name)}").fetchone()  # noqa: S608 - quoted
            yield None
        except (LakeError, OSError, duckdb.Error) as error:
            yield name, f"cannot be read: {str(error).splitlines()[0]}"


def unique_keys(lake: Lake, reader: Reader) -> Iterator[Found]:
    """No two rows of a table have the same key."""
    for name, spec in TABLES.items():
        key = ", ".join(quote(column) for column in spec.key)
        query = f"select {key}, count(*) from {quote(name)} group by {key} having count(*) > 1 order by {key}"  # noqa: S608 - quoted
        try:
            rows = reader.cursor([name]).execute(query).fetchmany(_LISTED)
        except (LakeError, duckdb.Error):
            continue  # tables_open says so
        if not rows:
            yield None
        for row in rows:
            yield f"{name} {dict(zip(spec.key, row, strict=False))}", f"{row[-1]} rows have this key"


def streams(lake: Lake, reader: Reader) -> Iterator[Found]:
    """Streams are numbered from 0 without a gap."""
    rows = (
        reader.cursor(["events"])
        .execute("select stream_kind, stream_id, count(*), min(seq), max(seq) from events group by all order by all")
        .fetchall()
    )
    for kind, stream, count, first, last in rows:
        right = first == 0 and last == count - 1
        yield None if right else (f"stream {kind}/{stream}", f"{count} events numbered {first} to {last}")


def events(lake: Lake, reader: Reader) -> Iterator[Found]:
    """Event ids follow from the place in the stream; payloads are JSON within the limit."""
    cursor = reader.cursor(["events"])
    cursor.execute("select event_id, stream_kind, stream_id, seq, payload, payload_blob from events")
    while rows := cursor.fetchmany(10_000):
        for row in rows:
            problem = _event_problem(*row)
            yield (f"event {row[0]} ({row[1]}/{row[2]} seq {row[3]})", problem) if problem else None


def _event_problem(id_: str, kind: str, stream: str, seq: int, payload: str | None, blob: str | None) -> str:
    if id_ != event_id(kind, stream, seq):
        return f"event_id should be {event_id(kind, stream, seq)}"
    if (payload is None) == (blob is None):
        return "must have either a payload or a payload_blob"
    if payload is not None:
        if len(payload.encode("utf-8", "surrogatepass")) > MAX_PAYLOAD:
            return f"payload is {len(payload)} characters long; more than {MAX_PAYLOAD} bytes belong into a blob"
        try:
            json.loads(payload)
        except ValueError as error:
            return f"payload is not JSON: {error}"
    return ""


def raw_records(lake: Lake, reader: Reader) -> Iterator[Found]:
    """Raw records have the key, size and sha256 they say."""
    cursor = reader.cursor(["raw_records"])
    cursor.execute(
        "select record_key, source_id, version, position, raw, raw_blob, raw_size, raw_sha256 from raw_records"
    )
    while rows := cursor.fetchmany(256):
        for key, source, version, position, raw, blob, size, sha in rows:
            subject = f"raw record {key} ({source}@{version} at {position})"
            if key != record_key(source, version, position):
                yield subject, f"record_key should be {record_key(source, version, position)}"
            elif raw is None and blob != sha:
                yield subject, "has neither bytes nor the blob of its sha256"
            elif raw is not None and (len(raw) != size or sha256_hex(bytes(raw)) != sha):
                yield (
                    subject,
                    f"its bytes have sha256 {sha256_hex(bytes(raw))} and size {len(raw)}, not {sha} and {size}",
                )
            else:
                yield None


def blobs(lake: Lake, reader: Reader) -> Iterator[Found]:
    """Blobs have the sha256 and size they are called by."""
    cursor = reader.cursor(["blobs"])
    cursor.execute("select sha256, size, data, object_path from blobs")
    while rows := cursor.fetchmany(64):
        for sha, size, inline, path in rows:
            try:
                data = bytes(inline) if inline is not None else (lake.root / "objects" / str(path)).read_bytes()
            except OSError as error:
                yield f"blob {sha}", f"its object file cannot be read: {error}"
                continue
            right = sha256_hex(data) == sha and len(data) == size
            yield None if right else (f"blob {sha}", f"its content has sha256 {sha256_hex(data)} and size {len(data)}")


def blob_references(lake: Lake, reader: Reader) -> Iterator[Found]:
    """Every blob a table names is in the lake."""
    for name, spec in TABLES.items():
        for column in spec.columns:
            if column.references != "blobs.sha256":
                continue
            yield from _dangling(reader, name, column.name)


def _dangling(reader: Reader, name: str, column: str) -> Iterator[Found]:
    key = ", ".join(quote(part) for part in TABLES[name].key)
    query = (
        f"select {quote(column)}, any_value(({key})), sha is not null"  # noqa: S608 - quoted names of the schema
        f" from {quote(name)} left join (select distinct sha256 as sha from blobs) on sha = {quote(column)}"
        f" where {quote(column)} is not null group by all order by all"
    )
    try:
        rows = reader.cursor({name, "blobs"}).execute(query).fetchall()
    except (LakeError, duckdb.Error):
        return  # tables_open says so
    for sha, at, there in rows:
        yield None if there else (f"{name}.{column} {at}", f"blob {sha} is not in the lake")


def manifests(lake: Lake, reader: Reader) -> Iterator[Found]:
    """Every file that a manifest in an event names is in the lake."""
    named: dict[str, str] = {}
    cursor = reader.cursor(["events"])
    cursor.execute("select event_id, stream_kind, stream_id, seq, payload, payload_blob from events")
    while rows := cursor.fetchmany(10_000):
        for id_, kind, stream, seq, text, blob in rows:
            for sha in _manifest_blobs(_payload(reader, text, blob)):
                named.setdefault(sha, f"event {id_} ({kind}/{stream} seq {seq})")
    present = known(lake.store, named, reader.version("blobs"))
    for sha, subject in sorted(named.items()):
        yield None if sha in present else (subject, f"its manifest names blob {sha}, which is not in the lake")


def _payload(reader: Reader, text: str | None, blob: str | None) -> Json:
    """A payload; null where it cannot be read, which is the finding of another check."""
    try:
        return json.loads(text if text is not None else reader.blob(str(blob)))
    except (LakeError, ValueError):
        return None


def _manifest_blobs(value: Json) -> Iterator[str]:
    """sha256 of the manifest entries (objects with path, sha256 and size) anywhere in a payload."""
    if isinstance(value, dict):
        if {"path", "sha256", "size"} <= value.keys() and isinstance(value["sha256"], str):
            yield value["sha256"]
        for inner in value.values():
            yield from _manifest_blobs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _manifest_blobs(inner)


def spools(lake: Lake, reader: Reader) -> Iterator[Found]:
    """Spools on disk can be read."""
    for spool in spool_folders(lake.root):
        for path in takeable(spool, abandoned=is_orphan(spool)):
            try:
                for _ in read_segment(path):
                    pass
                yield None
            except LakeError as error:
                yield f"spool {spool.name}", str(error)
            except FileNotFoundError:
                continue  # committed meanwhile


_CHECKS: Final[tuple[tuple[str, tuple[str, ...], Callable[[Lake, Reader], Iterator[Found]]], ...]] = (
    ("tables_open", (), tables_open),
    ("unique_keys", (), unique_keys),
    ("streams", ("events",), streams),
    ("events", ("events",), events),
    ("raw_records", ("raw_records",), raw_records),
    ("blobs", ("blobs",), blobs),
    ("blob_references", ("blobs",), blob_references),
    ("manifests", ("events", "blobs"), manifests),
    ("spools", (), spools),
)
