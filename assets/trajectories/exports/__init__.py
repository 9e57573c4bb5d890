"""Trajectories in the formats of others: one module a format, one function that writes any of them.

Belongs here: which formats there are, and what every export does. Does not belong here: which rows to train on (`sft`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from assets.trajectories.exports import atif, hf, scout, sharegpt, trl
from assets.trajectories.exports.item import About, Tally, Writer
from assets.trajectories.exports.selection import Filters, chosen, families, items, pinned
from assets.trajectories.exports.target import write
from lake import Lake
from lake.errors import UsageError
from lake.ids import Json

__all__ = ["FORMATS", "Filters", "export"]

FORMATS: Final[dict[str, Writer]] = {
    "trl": trl.write,
    "atif": atif.write,
    "sharegpt": sharegpt.write,
    "hf": hf.write,
    "scout": scout.write,
}
"""By the name the command line gives."""


def export(
    lake: Lake,
    target: Path,
    *,
    format: str = "trl",  # noqa: A002 - the word of the option
    filters: Filters | None = None,
    arguments: Literal["string", "object"] = "string",
    atif_version: str = "1.7",
    as_of: str | None = None,
    force: bool = False,
) -> dict[str, Json]:
    """Write trajectories in a format, whole or not at all; the same lake gives the same bytes, secrets are masked.

    Args:
        lake: read at one snapshot, which the report names.
        target: the file (`trl`, `sharegpt`, `atif` when it ends in .jsonl) or the folder (`hf`, `scout`, other `atif`).
        format: one of `FORMATS`.
        filters: which trajectories; all when not given.
        arguments: of `trl`: tool-call arguments as JSON text or as objects.
        atif_version: 1.7 or 1.8.
        as_of: a snapshot id or a UTC time; now when not given.
        force: replace an earlier export.

    Returns:
        The report: format, snapshot, filters, how many were chosen and exported, what the form does not hold
        (counts), sha256 of each file. It is stored as `report.json` in a folder, beside a file.

    Raises:
        UsageError: the target is there already, or cannot be written; there is no such snapshot or format.
    """
    if format not in FORMATS:
        raise UsageError(f"no format {format!r}; there are: {', '.join(FORMATS)}")
    if atif_version not in atif.VERSIONS:
        raise UsageError(f"ATIF {atif_version!r} is not written; there are: {', '.join(atif.VERSIONS)}")

    def fill(part: Path) -> dict[str, Json]:
        snapshot = pinned(lake, as_of)
        wanted = filters or Filters()
        ids = chosen(lake, snapshot, wanted)
        children, parents = families(lake, snapshot, ids)
        single = format in ("trl", "sharegpt") or (format == "atif" and target.suffix == ".jsonl")
        about = About(snapshot, wanted.given(), arguments, atif_version, single, children, parents)
        tally = Tally()
        FORMATS[format](items(lake, snapshot, ids), part, about, tally)
        return {
            "format": f"ATIF-v{atif_version}" if format == "atif" else format,
            "snapshot_id": snapshot,
            "filters": dict(about.filters),
            "trajectories": tally.trajectories,
            "exported": tally.exported,
            "not_held": dict(sorted(tally.not_held.items())),
        }

    return write(target, fill, force=force)
