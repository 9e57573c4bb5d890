"""Writes docs/tables.md from the schema: `python -m lake.docs`. A test checks that the page is current.

Belongs here: the page's layout. Does not belong here: any statement about a table (it stands in `lake/schema`).
"""

from __future__ import annotations

from pathlib import Path

from lake.schema import TABLES, Table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tables.md"

_HEAD = """# Tables

Written from [`lake/schema/`](../lake/schema) by `python -m lake.docs`; do not edit.

Tables of the log are append-only and cannot be rebuilt; projections follow from the log and can be dropped.
Columns marked *b* are bookkeeping (clock times, run ids): no digest looks at them. `→` names what a value points at.

"""


def page() -> str:
    """The whole page."""
    lines = ["| table | stage | kind | one row is |", "|---|---|---|---|"]
    lines += [f"| [{t.name}](#{t.name}) | {t.stage} | {t.kind} | {cell(t.grain)} |" for t in TABLES.values()]
    return _HEAD + "\n".join(lines) + "\n" + "".join(section(table) for table in TABLES.values())


def section(table: Table) -> str:
    """One table with its columns."""
    facts = f"{cell(table.doc)} One row is {cell(table.grain)}. Key: {', '.join(f'`{name}`' for name in table.key)}."
    if table.sort_by and table.sort_by != table.key:
        facts += f" Stored in the order {', '.join(f'`{name}`' for name in table.sort_by)}."
    if table.partition_by:
        facts += f" Partitioned by {', '.join(f'`{name}`' for name in table.partition_by)}."
    lines = ["", f"## {table.name}", "", facts, "", "| column | type | | meaning |", "|---|---|---|---|"]
    for column in table.columns:
        marks = ["null"] if column.nullable else []
        marks += ["*b*"] if column.role == "bookkeeping" else []
        meaning = cell(column.doc)
        meaning += f" ({column.unit})" if column.unit else ""
        meaning += f" → `{column.references}`" if column.references else ""
        lines.append(f"| `{column.name}` | {kind(str(column.type))} | {' '.join(marks)} | {meaning} |")
    return "\n".join(lines) + "\n"


def kind(arrow: str) -> str:
    """An Arrow type in a reader's words."""
    words = {"timestamp[us, tz=UTC]": "time (UTC, µs)", "large_string": "string", "large_binary": "binary"}
    words |= {"list<item: string>": "list of string", "list<item: int32>": "list of int32"}
    words |= {"list<item: float>": "list of float32", "double": "float64"}
    return words.get(arrow, arrow)


def cell(text: str) -> str:
    """Text that does not end a table cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
