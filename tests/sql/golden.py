"""Golden output of the worked examples: how it is written, and `python -m tests.sql.golden` to write it anew.

Look at the difference before committing it: these files are what the examples claim.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import sql
from lake import Lake
from tests.sql import minilake

GOLDEN = Path(__file__).parent / "golden"


def render(lake: Lake, query: str) -> str:
    """Output of a query: a line of names, then a line a row, tab-separated."""
    relation = lake.sql(query, read_only=True)
    rows = ["\t".join(map(str, row)) for row in relation.fetchall()]
    return "\n".join(["\t".join(relation.columns), *rows]) + "\n"


def path(name: str) -> Path:
    """Golden file of an example."""
    return GOLDEN / f"{name.rsplit('/', 1)[1]}.tsv"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = minilake.build(Path(folder) / "lake")
        for name in sql.names("examples"):
            path(name).write_text(render(lake, sql.load(name)), encoding="utf-8")


if __name__ == "__main__":
    main()
