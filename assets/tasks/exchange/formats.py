"""The formats there are.

Belongs here: the list, by name and by looking. Does not belong here: any format.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from assets.tasks.exchange.clawgym_folder import ClawgymFolder
from assets.tasks.exchange.clawgym_rows import ClawgymRows
from assets.tasks.exchange.contract import Format
from assets.tasks.exchange.harbor import Harbor
from assets.tasks.exchange.pinchbench import PinchBench
from lake.errors import SourceError, UsageError

FORMATS: Final[dict[str, Format]] = {
    form.name: form
    for form in (
        ClawgymFolder(),
        ClawgymRows("clawgym-jsonl"),
        ClawgymRows("clawgym-run"),
        Harbor(),
        PinchBench(),
    )
}
"""By name, in the order they are tried."""


def format_named(name: str) -> Format:
    """A format.

    Raises:
        UsageError: there is none of the name.
    """
    if name not in FORMATS:
        raise UsageError(f"task format {name!r} is unknown; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def recognised(path: Path) -> Format:
    """The format of what is at a path.

    Raises:
        SourceError: nothing is there, or no format knows it.
    """
    if not path.exists():
        raise SourceError(f"{path} does not exist; give a folder or file of published tasks")
    for form in FORMATS.values():
        if form.recognises(path):
            return form
    raise SourceError(f"{path} holds no tasks of a known format ({', '.join(FORMATS)}); say which with --format")
