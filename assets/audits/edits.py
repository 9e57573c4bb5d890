"""One small mistake in a file's text, by kind and format; null where the file gives no room for it.

Belongs here: pure edits of csv, json, jsonl, yaml, toml, ini, Markdown, html and plain text. An edit changes what the
file says, not how it is spelled. Source code is left to the mistakes that know no format. Does not belong here: which
files are mutated, or whether a mistake counts (`mutants.py`).
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import yaml

Edit = Callable[[str, random.Random], str | None]

_NUMBER: Final = re.compile(r"(?<![\w.,:/#-])-?\d+(?:\.\d+)?(?![\w:/-]|[.,]\d)")
"""A number standing alone: no part of a date, a time, an id, a version or a thousands group."""
_LISTED: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+\S")
_RULE: Final = re.compile(r"^\s*\|?[\s:|-]*-[\s:|-]*\|?\s*$")


def bump(number: str) -> str:
    """A wrong number of the same look: a whole one more by 1, a decimal one by 1 (by 0.1 below 1)."""
    if "." not in number:
        return str(int(number) + 1)
    places = len(number.split(".")[1])
    value = float(number)
    return f"{value + (1 if abs(value) >= 1 else 0.1):.{places}f}"


def change_number_in_text(text: str, rng: random.Random) -> str | None:
    """Changes one of the numbers standing alone; not the marks of a numbered list."""
    found = [m for m in _NUMBER.finditer(text) if not re.match(r"[.)]\s", text[m.end() : m.end() + 2])]
    if not found:
        return None
    match = rng.choice(found)
    return text[: match.start()] + bump(match[0]) + text[match.end() :]


# --- csv, tsv ---------------------------------------------------------------------------------------------------


def _table(text: str, mark: str) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if row]


def _written(rows: list[list[str]], mark: str) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=mark, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def _csv(change: Callable[[list[list[str]], random.Random], list[list[str]] | None], mark: str) -> Edit:
    def edit(text: str, rng: random.Random) -> str | None:
        rows = _table(text, mark)
        changed = change([list(row) for row in rows], rng) if len(rows) > 1 else None
        return None if changed is None or changed == rows else _written(changed, mark)

    return edit


def _csv_drop(rows: list[list[str]], rng: random.Random) -> list[list[str]]:
    del rows[rng.randrange(1, len(rows))]
    return rows


def _csv_number(rows: list[list[str]], rng: random.Random) -> list[list[str]] | None:
    cells = [(r, c) for r, row in enumerate(rows[1:], 1) for c, cell in enumerate(row) if _NUMBER.fullmatch(cell)]
    if not cells:
        return None
    r, c = rng.choice(cells)
    rows[r][c] = bump(rows[r][c])
    return rows


def _csv_reorder(rows: list[list[str]], rng: random.Random) -> list[list[str]]:
    rows[1], rows[-1] = rows[-1], rows[1]
    return rows


def _csv_rename(rows: list[list[str]], rng: random.Random) -> list[list[str]]:
    rows[0][rng.randrange(len(rows[0]))] += "_x"
    return rows


# --- json, jsonl, yaml --------------------------------------------------------------------------------------------


def _nodes(value: Any) -> Iterator[Any]:
    """Every list and object, outer before inner."""
    if isinstance(value, (dict, list)):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _nodes(inner)


def _tree_drop(value: Any, rng: random.Random) -> bool:
    lists = [node for node in _nodes(value) if isinstance(node, list) and node]
    if lists:
        longest = max(lists, key=len)
        del longest[rng.randrange(len(longest))]
        return True
    objects = [node for node in _nodes(value) if isinstance(node, dict) and node]
    if objects:
        chosen = objects[-1]
        del chosen[rng.choice(sorted(chosen, key=str))]
    return bool(objects)


def _tree_number(value: Any, rng: random.Random) -> bool:
    places: list[tuple[Any, Any]] = []
    for node in _nodes(value):
        for key, inner in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(inner, (int, float)) and not isinstance(inner, bool):
                places.append((node, key))
    if places:
        node, key = rng.choice(places)
        node[key] += 1 if isinstance(node[key], int) or abs(node[key]) >= 1 else 0.1
        if isinstance(node[key], float):
            node[key] = round(node[key], 6)
    return bool(places)


def _tree_reorder(value: Any, rng: random.Random) -> bool:
    lists = [node for node in _nodes(value) if isinstance(node, list) and len(node) > 1 and node[0] != node[-1]]
    if lists:
        longest = max(lists, key=len)
        longest[0], longest[-1] = longest[-1], longest[0]
    return bool(lists)


def _tree_rename(value: Any, rng: random.Random) -> bool:
    names = sorted({key for node in _nodes(value) if isinstance(node, dict) for key in node if isinstance(key, str)})
    if not names:
        return False
    name = rng.choice(names)
    for node in _nodes(value):
        if isinstance(node, dict) and name in node:
            items = [(f"{key}_x" if key == name else key, inner) for key, inner in node.items()]
            node.clear()
            node.update(items)
    return True


def _json(change: Callable[[Any, random.Random], bool]) -> Edit:
    def edit(text: str, rng: random.Random) -> str | None:
        value = json.loads(text)
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n" if change(value, rng) else None

    return edit


def _yaml(change: Callable[[Any, random.Random], bool]) -> Edit:
    def edit(text: str, rng: random.Random) -> str | None:
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error
        return yaml.safe_dump(value, sort_keys=False, allow_unicode=True) if change(value, rng) else None

    return edit


def _jsonl(change: Callable[[Any, random.Random], bool]) -> Edit:
    def edit(text: str, rng: random.Random) -> str | None:
        records = [json.loads(line) for line in text.splitlines() if line.strip()]
        if not change(records, rng):
            return None
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)

    return edit


# --- toml, ini ----------------------------------------------------------------------------------------------------

_SETTING: Final = re.compile(r"^\s*([\w.-]+)\s*[=:]\s*\S")


def _settings(lines: list[str]) -> list[int]:
    return [n for n, line in enumerate(lines) if _SETTING.match(line) and not line.lstrip().startswith(("#", ";"))]


def _drop_setting(text: str, rng: random.Random) -> str | None:
    lines = text.splitlines(keepends=True)
    places = _settings(lines)
    if not places:
        return None
    del lines[rng.choice(places)]
    return "".join(lines)


def _rename_setting(text: str, rng: random.Random) -> str | None:
    lines = text.splitlines(keepends=True)
    places = _settings(lines)
    if not places:
        return None
    place = rng.choice(places)
    lines[place] = re.sub(r"^(\s*[\w.-]+)", r"\1_x", lines[place])
    return "".join(lines)


def _number_setting(text: str, rng: random.Random) -> str | None:
    lines = text.splitlines(keepends=True)
    found = [(n, m) for n in _settings(lines) for m in _NUMBER.finditer(lines[n]) if m.start() > lines[n].find("=")]
    if not found:
        return None
    place, match = rng.choice(found)
    lines[place] = lines[place][: match.start()] + bump(match[0]) + lines[place][match.end() :]
    return "".join(lines)


# --- Markdown, html, plain text -----------------------------------------------------------------------------------


def _md_blocks(lines: list[str]) -> list[list[int]]:
    """Rows of tables (without head) and items of lists, as runs of line numbers."""
    blocks: list[list[int]] = []
    current: list[int] = []
    kind = ""
    for n, line in enumerate([*lines, ""]):
        here = "table" if line.lstrip().startswith("|") else "list" if _LISTED.match(line) else ""
        if here != kind:
            blocks += [current] if current else []
            current, kind = [], here
        if here:
            current.append(n)
    rows = []
    for block in blocks:
        head = next((i for i, n in enumerate(block) if _RULE.match(lines[n]) and "|" in lines[n]), None)
        rows.append(block if head is None else block[head + 1 :])
    return [block for block in rows if block]


def _text_blocks(lines: list[str]) -> list[list[int]]:
    filled = [n for n, line in enumerate(lines) if line.strip()]
    return [filled] if filled else []


def _html_blocks(lines: list[str]) -> list[list[int]]:
    marked = re.compile(r"^\s*<(tr|li|dd|p|option)\b.*</\1>\s*$", re.IGNORECASE)
    rows = [n for n, line in enumerate(lines) if marked.match(line) and "<th" not in line]
    return [rows] if rows else []


def _lines_drop(blocks: Callable[[list[str]], list[list[int]]]) -> Edit:
    def edit(text: str, rng: random.Random) -> str | None:
        lines = text.splitlines(keepends=True)
        found = [n for block in blocks(lines) for n in block]
        if not found:
            return None
        del lines[rng.choice(found)]
        return "".join(lines)

    return edit


def _lines_reorder(blocks: Callable[[list[str]], list[list[int]]]) -> Edit:
    def edit(text: str, rng: random.Random) -> str | None:
        lines = text.splitlines()
        found = [block for block in blocks(lines) if len(block) > 1 and lines[block[0]] != lines[block[-1]]]
        if not found:
            return None
        block = max(found, key=len)
        first, last = block[0], block[-1]
        lines[first], lines[last] = lines[last], lines[first]
        return "\n".join(lines) + "\n"

    return edit


def _md_rename(text: str, rng: random.Random) -> str | None:
    """A heading or a column of a table gets another name."""
    lines = text.splitlines()
    heads = [n for n, line in enumerate(lines) if re.match(r"#{1,6}\s+\S", line)]
    columns = [n - 1 for n, line in enumerate(lines) if n and _RULE.match(line) and "|" in line and "|" in lines[n - 1]]
    if not heads + columns:
        return None
    place = rng.choice(sorted({*heads, *columns}))
    if place in columns:
        cells = lines[place].split("|")
        named = [i for i, cell in enumerate(cells) if cell.strip()]
        chosen = rng.choice(named)
        cells[chosen] = cells[chosen].rstrip() + " x "
        lines[place] = "|".join(cells)
    else:
        lines[place] += " x"
    return "\n".join(lines) + "\n"


def _html_rename(text: str, rng: random.Random) -> str | None:
    found = list(re.finditer(r"<(th|h[1-6]|dt|caption)\b[^>]*>([^<]+)", text, re.IGNORECASE))
    if not found:
        return None
    match = rng.choice(found)
    return text[: match.end()] + " x" + text[match.end() :]


_TREES: Final = {
    "drop_row": _tree_drop, "change_number": _tree_number, "reorder": _tree_reorder, "rename_field": _tree_rename,
}  # fmt: skip
_ROWS: Final = {
    "drop_row": _csv_drop, "change_number": _csv_number, "reorder": _csv_reorder, "rename_field": _csv_rename,
}  # fmt: skip
_BLOCKS: Final = {"md": _md_blocks, "text": _text_blocks, "log": _text_blocks, "html": _html_blocks}


def _all() -> dict[tuple[str, str], Edit]:
    edits: dict[tuple[str, str], Edit] = {}
    for kind, tree in _TREES.items():
        edits |= {(kind, "json"): _json(tree), (kind, "jsonl"): _jsonl(tree), (kind, "yaml"): _yaml(tree)}
    for kind, rows in _ROWS.items():
        edits |= {(kind, "csv"): _csv(rows, ","), (kind, "tsv"): _csv(rows, "\t")}
    for name in ("toml", "ini"):
        edits |= {
            ("drop_row", name): _drop_setting,
            ("rename_field", name): _rename_setting,
            ("change_number", name): _number_setting,
        }
    for name, blocks in _BLOCKS.items():
        edits |= {("drop_row", name): _lines_drop(blocks), ("reorder", name): _lines_reorder(blocks)}
        edits[("change_number", name)] = change_number_in_text
    return edits | {("rename_field", "md"): _md_rename, ("rename_field", "html"): _html_rename}


EDITS: Final = _all()
"""Edit by (kind, format); a missing pair means that the mistake makes no sense there."""
