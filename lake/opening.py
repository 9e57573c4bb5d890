"""Opening a lake: which folder it is, whether this version can read it, and creating what is not there yet.

Belongs here: `lake.json`, formats, the tables' existence. Does not belong here: reading or writing rows.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Final

from lake.durable import file_lock, fsync
from lake.errors import LakeError, UsageError
from lake.ids import Json, canonical, sha256_hex
from lake.lake import Lake
from lake.schema import TABLES
from lake.settings import LAKE_FORMAT, lake_root
from lake.store import configuration

_UNUSABLE: Final = set("%[]|^\\")
"""Characters the Delta writer takes for something else in a path."""

_UNFINISHED: Final = "lake.json.tmp"
"""Lies in a folder from before the first table is made until all are: whatever else is there, it becomes a lake."""


def open(path: str | Path | None = None, *, create: bool = True) -> Lake:  # noqa: A001 - lake.open() is the public name
    """Open the lake at `path` (else `CLAWGYM_LAKE`, else `./data/lake`), creating it where there is nothing.

    Raises:
        LakeError: the folder holds something else, a newer format, or nothing and `create` is false.
        UsageError: the path has a character that Delta tables cannot have.
    """
    root = lake_root(path)
    wrong = sorted(c for c in set(str(root)) if c in _UNUSABLE or not c.isprintable())
    if wrong:
        raise UsageError(f"the lake cannot be in {str(root)!r}: Delta tables allow no {wrong[0]!r} in their path")
    marker = root / "lake.json"
    if not marker.exists():
        names = sorted(p.name for p in root.iterdir()) if root.is_dir() else []
        foreign = [] if _UNFINISHED in names else [name for name in names if name != "locks"]
        if root.exists() and not root.is_dir():
            raise LakeError(f"{root} is a file; choose another folder with CLAWGYM_LAKE")
        if foreign and not marker.exists():
            raise LakeError(
                f"{root} is not empty and not a lake (no lake.json, but {foreign[0]}); "
                "choose another folder with CLAWGYM_LAKE"
            )
        if not foreign and not create:
            raise LakeError(f"there is no lake in {root}; run `make demo` or set CLAWGYM_LAKE")
    lake = Lake(root)
    found = read_marker(marker) if marker.exists() else {}
    if found.get("schema") != schema_digest() or not _all_there(lake):
        _prepare(lake, marker)
    return lake


def read_marker(marker: Path) -> dict[str, Json]:
    """What `lake.json` says.

    Raises:
        LakeError: it is damaged, or of a newer format.
    """
    try:
        found = dict(json.loads(marker.read_text(encoding="utf-8")))
        lake_format = int(found["lake_format"])
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(
            f"{marker} cannot be read ({error}); restore it or choose another folder with CLAWGYM_LAKE"
        ) from error
    if lake_format > LAKE_FORMAT:
        raise LakeError(
            f"{marker.parent} has lake format {lake_format}, this version reads up to {LAKE_FORMAT}; upgrade clawgym"
        )
    return found


def schema_digest() -> str:
    """Digest of all declared tables; when it is the recorded one, opening need not look at each table."""
    return sha256_hex(canonical({name: [str(t.arrow), configuration(t)] for name, t in TABLES.items()}))[:16]


def _all_there(lake: Lake) -> bool:
    return all((lake.store.path(name) / "_delta_log").is_dir() for name in TABLES)


def _prepare(lake: Lake, marker: Path) -> None:
    """Create what is missing and say in `lake.json` that it is there; several processes may come at once."""
    with file_lock(lake.root / "locks" / "open.lock"):
        found = read_marker(marker) if marker.exists() else {"lake_id": uuid.uuid4().hex}
        text = canonical({**found, "lake_format": LAKE_FORMAT, "schema": schema_digest()}) + "\n"
        temporary = lake.root / _UNFINISHED
        temporary.write_text(text, encoding="utf-8")
        fsync(temporary)
        fsync(lake.root)
        lake.store.ensure()
        temporary.rename(marker)
        fsync(lake.root)
