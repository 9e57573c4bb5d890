"""How results are printed: aligned columns for people, JSON and CSV for programs.

Belongs here: formatting. Does not belong here: queries.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from lake.errors import UsageError

Row = Mapping[str, Any]
"""A row as column name to value."""


def print_json(value: Any) -> None:
    """Print a value as JSON: keys in their order, times in ISO 8601, bytes as hex."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=_plain, allow_nan=True))


def print_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows as CSV with a header; null is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(["" if v is None else _plain(v) if not isinstance(v, str) else v for v in row] for row in rows)
    click.echo(text.getvalue(), nl=False)


def print_rows(rows: Sequence[Row], as_json: bool, *, empty: str, limit: int | None = None) -> None:
    """Print rows as a table, or as a JSON list.

    Args:
        rows: one more than `limit` where there are more.
        as_json: whether as JSON.
        empty: what to say, and what to do next, when there is no row.
        limit: rows shown; that there are more is said on stderr.
    """
    if limit is not None and len(rows) > limit:
        rows = rows[:limit]
        if not as_json:
            click.echo(f"the first {limit}; there are more, --limit N shows them", err=True)
    if as_json:
        print_json([dict(row) for row in rows])
    elif not rows:
        click.echo(empty)
    else:
        print_table(list(rows[0]), [list(row.values()) for row in rows])


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print aligned columns; cells are cut to the terminal's width only where there is a terminal."""
    cells = [[_cell(value) for value in row] for row in rows]
    numeric = [all(_is_number(row[at]) or row[at] is None for row in rows) for at in range(len(columns))]
    widths = [max([len(name), *(len(row[at]) for row in cells)]) for at, name in enumerate(columns)]
    widths = _fitted(widths)
    for line in [list(columns), *cells]:
        parts = [
            _cut(cell, width).rjust(width) if right else _cut(cell, width).ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        click.echo("  ".join(parts).rstrip())


def print_record(record: Row, as_json: bool) -> None:
    """Print one row, a line per field."""
    if as_json:
        print_json(dict(record))
        return
    width = max(len(name) for name in record)
    for name, value in record.items():
        click.echo(f"{name.ljust(width)}  {_cell(value)}")


def _fitted(widths: list[int]) -> list[int]:
    if not sys.stdout.isatty():
        return widths
    room = shutil.get_terminal_size().columns
    fitted = list(widths)
    while sum(fitted) + 2 * (len(fitted) - 1) > room and max(fitted) > 12:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _cut(cell: str, width: int) -> str:
    return cell if len(cell) <= width else cell[: width - 1] + "…"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.0f}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, list | tuple):
        return ", ".join(_cell(part) for part in value)
    return " ".join(str(_plain(value)).split()) if not isinstance(value, bool) else ("yes" if value else "no")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, Decimal):
        return float(value)
    return value if isinstance(value, int | float | str | list | dict) else str(value)


def size(count: int) -> str:
    """A number of bytes as a person reads it."""
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def write_lines(target: Path, lines: Iterable[str], *, force: bool) -> int:
    """Write a text file whole or not at all.

    Returns:
        Number of lines.

    Raises:
        UsageError: it is there and `force` is false, or its folder is not.
    """
    if target.exists() and not force:
        raise UsageError(f"{target} is there already; give --force to replace it")
    temporary = target.with_name(target.name + ".part")
    count = 0
    try:
        with temporary.open("w", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
        temporary.replace(target)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return count
