"""The SQL of the project: `.sql` files only, and the loader that finds them.

`views/` are created on every connection; `metrics/` and the folders named by a stage hold queries with `$parameters`;
`examples/` are worked questions for people. Does not belong here: Python that builds SQL.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent
"""The folder of the files."""


@cache
def load(name: str) -> str:
    """The text of a file by its path without `.sql`, e.g. `metrics/distribution`.

    Raises:
        KeyError: there is no such file; the message lists what its folder holds.
    """
    path = ROOT / f"{name}.sql"
    if ROOT not in path.resolve().parents or not path.is_file():
        folder = name.rsplit("/", 1)[0] if "/" in name else ""
        raise KeyError(f"no SQL file {name!r}; there are: {', '.join(names(folder)) or 'none'}")
    return path.read_text(encoding="utf-8")


def names(folder: str) -> tuple[str, ...]:
    """Names (for `load`) of the files of a folder, sorted."""
    return tuple(sorted(f"{folder}/{path.stem}".lstrip("/") for path in (ROOT / folder).glob("*.sql")))


def title(name: str) -> str:
    """The first comment line of a file: what it answers."""
    first = load(name).split("\n", 1)[0]
    return first.removeprefix("--").strip()
