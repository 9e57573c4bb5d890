"""The audits as a page of Markdown: families, kinds of mistakes, what survived.

Belongs here: layout. The figures are `sql/audits/*.sql`. `python -m assets.audits.report` prints the page of the lake.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import lake as lakes
import sql
from lake import Lake

_HEAD = """# Task families and what their verifiers are worth

Made by `python -m assets.audits.report` from the table `audits`; not written by hand. Each verifier was run on
workspaces whose worth is known. *Worthless* is the most that any of these earned: zero-byte files, well-formed
placeholders, the instruction pasted into every output. A *mutant* is the reference solution with one mistake in one
output file; it is noticed when the score falls below 1. Reordering counts only where the instruction states an order in
the lines about that file; elsewhere it is a *variation*, run and reported only.
"""


def family_report(lake: Lake) -> str:
    """The page."""
    families = _rows(lake, "audits/families")
    table = [
        [
            row["family"],
            row["bench_category"] or "",
            f"{row['accepted']}/{row['tasks']}",
            _score(row["oracle_min"]),
            _score(row["untouched_max"]),
            _score(row["empty_max"]),
            _score(max((row[f"{name}_max"] or 0.0 for name in ("zero_byte", "placeholder", "pasted")), default=None)),
            _share(row["killed"], row["mutants"]),
            _share(row["variations_noticed"], row["variations"]),
            f"{row['repeats_equal']}/{row['repeats']}",
            str(row["lints"]),
        ]
        for row in families
    ]
    heads = ["family", "bench category", "accepted", "oracle (min)", "untouched (max)", "empty (max)",
             "worthless (max)", "mutants noticed", "variations noticed", "repeats equal", "lints"]  # fmt: skip
    parts = [_HEAD, _table(heads, table)]
    kinds = [[row["kind"], _share(row["killed"], row["mutants"])] for row in _rows(lake, "audits/kinds")]
    parts += ["## Mistakes by kind\n", _table(["kind", "noticed"], kinds)]
    survivors = [
        [row["family"], f"`{row['mutant']}`", f"{row['survived']} of {row['made']}", row["example"], row["status"]]
        for row in _rows(lake, "audits/survivors")
    ]
    parts += ["## Not noticed\n"]
    parts += [_table(["family", "mutant", "tasks", "example", "status"], survivors) if survivors else "None.\n"]
    return "\n".join(parts)


def _rows(lake: Lake, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lake.sql(sql.load(name)).to_arrow_table().to_pylist()
    return found


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({part / whole:.1%})" if whole else "none"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [" | ".join(heads), " | ".join("---" for _ in heads), *(" | ".join(row) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(family_report(lakes.open(create=False)))
