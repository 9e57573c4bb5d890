"""Helpers that every family verifier shares; `verifier.py` inlines this file into each `check.py`.

Belongs here: reading outputs without trusting them, comparing numbers, running the checks. Standard library only, and
nothing imported from the project: the assembled file stands alone. Does not belong here: any task's rules.
"""

from __future__ import annotations

import csv
import io
import json
import re
import stat
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

ORIGINALS: dict[str, bytes] = {}
"""The inputs as handed out. Expected values are computed from these, so a changed input changes nothing."""
EDITABLE: tuple[str, ...] = ()
"""Inputs the task asks to change."""
OUTPUTS: tuple[str, ...] = ()
"""Files the task asks for."""
CHECKS: dict[str, Callable[[Path], float]] = {}
"""The named checks in order, each giving 0 to 1."""
MAX_OUTPUT = 4_000_000


class OutputError(Exception):
    """An output is missing, malformed or not what was asked for."""


def check(function: Callable[[Path], float]) -> Callable[[Path], float]:
    """Register a check under its own name."""
    CHECKS[function.__name__] = function
    return function


def original(path: str) -> str:
    """Text of an input as handed out."""
    return ORIGINALS[path].decode("utf-8")


def original_csv(path: str) -> list[dict[str, str]]:
    """Rows of a CSV input as handed out."""
    return list(csv.DictReader(io.StringIO(original(path), newline="")))


def original_yaml(path: str) -> dict[str, Any]:
    """A YAML input of at most two levels of `key: value`, as handed out; values stay text."""
    result: dict[str, Any] = {}
    parent = ""
    for line in original(path).splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, _, value = line.strip().partition(":")
        value = value.split(" #")[0].strip().strip("\"'")
        if not line.startswith(" "):
            parent = key
            result[key] = value if value else {}
        else:
            result[parent][key.strip("\"'")] = value
    return result


def output(workspace: Path, path: str) -> str:
    """Text of an output: a regular file, not a link, not empty, UTF-8."""
    target = workspace
    for part in path.split("/"):
        target = target / part
        try:
            mode = target.lstat().st_mode
        except OSError as error:
            raise OutputError(f"{path} is missing") from error
        if stat.S_ISLNK(mode):
            raise OutputError(f"{path} is a link")
    if not stat.S_ISREG(mode) or target.stat().st_size > MAX_OUTPUT:
        raise OutputError(f"{path} is not a file of reasonable size")
    text = target.read_bytes().decode("utf-8-sig")
    if not text.strip():
        raise OutputError(f"{path} is empty")
    return text


def output_csv(workspace: Path, path: str, header: list[str]) -> list[dict[str, str]]:
    """Rows of a CSV output with exactly this header and at least one row; cells are stripped."""
    rows = [row for row in csv.reader(io.StringIO(output(workspace, path), newline="")) if row]
    if [cell.strip() for cell in rows[0]] != header:
        raise OutputError(f"{path} has the header {rows[0]}")
    if len(rows) < 2 or any(len(row) != len(header) for row in rows):
        raise OutputError(f"{path} has no rows, or rows of another width")
    return [dict(zip(header, (cell.strip() for cell in row), strict=True)) for row in rows[1:]]


def _no_constant(name: str) -> Any:
    raise OutputError(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise OutputError("a JSON object repeats a key")
    return dict(pairs)


def parse_json(text: str) -> Any:
    """Strict JSON: numbers exact, no NaN, no repeated keys."""
    return json.loads(text, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_unique)


def output_json(workspace: Path, path: str) -> Any:
    """A JSON output."""
    return parse_json(output(workspace, path))


def output_jsonl(workspace: Path, path: str) -> list[Any]:
    """Records of a JSON Lines output."""
    return [parse_json(line) for line in output(workspace, path).splitlines() if line.strip()]


def object_keys(value: Any, keys: list[str]) -> dict[str, Any]:
    """The value, if it is an object with exactly these keys."""
    if not isinstance(value, dict) or sorted(value) != sorted(keys):
        raise OutputError(f"expected an object with the keys {keys}")
    return value


def number(value: Any) -> Decimal:
    """A number, or text that is one (a thousands comma and a trailing % are not accepted)."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
        raise OutputError(f"{value!r} is not a number")
    try:
        result = Decimal(str(value).strip())
    except InvalidOperation as error:
        raise OutputError(f"{value!r} is not a number") from error
    if not result.is_finite():
        raise OutputError(f"{value!r} is not a number")
    return result


def is_int(value: Any, expected: int) -> bool:
    """Whether a value is this whole number (JSON number, or text in a CSV)."""
    return number(value) == expected


def rounded(value: Any, exact: Decimal | int, places: int) -> bool:
    """Whether `value` is `exact` rounded to `places`; where it lies half-way, either neighbour counts."""
    found, unit = number(value), Decimal(1).scaleb(-places)
    noise = Decimal("0.000001")
    nearest = (found / unit).to_integral_value() * unit
    return abs(found - nearest) <= noise and abs(nearest - Decimal(exact)) <= unit / 2 + noise


def share(right: int, total: int) -> float:
    """`right` of `total` as 0 to 1; nothing expected is a mistake of the verifier."""
    if total <= 0:
        raise AssertionError("a check expects nothing")
    return right / total


def md_table(text: str, header: list[str]) -> list[list[str]]:
    """Cells of the first Markdown table with this header."""
    lines = [line.strip() for line in text.splitlines()]
    for i, line in enumerate(lines):
        if _cells(line) == header and i + 1 < len(lines) and re.fullmatch(r"\|?[\s:|-]*-[\s:|-]*\|?", lines[i + 1]):
            rows = []
            for row in lines[i + 2 :]:
                if not row.startswith("|"):
                    break
                rows.append(_cells(row))
            if not rows or any(len(row) != len(header) for row in rows):
                raise OutputError("the table has no rows, or rows of another width")
            return rows
    raise OutputError(f"no table with the columns {header}")


def _cells(line: str) -> list[str]:
    return [cell.strip().strip("*`").strip() for cell in line.strip().strip("|").split("|")] if "|" in line else []


def labelled(text: str, label: str) -> str:
    """What follows `label:` on the one line that has it (list marks and emphasis ignored)."""
    found = []
    for line in text.splitlines():
        plain = re.sub(r"[*_`]", "", line).strip().lstrip("-+#> ").strip()
        if plain.lower().startswith(label.lower() + ":"):
            found.append(plain[len(label) + 1 :].strip())
    if len(found) != 1:
        raise OutputError(f"{len(found)} lines start with {label!r}")
    return found[0]


def section(text: str, heading: str) -> str:
    """The text below a Markdown heading up to the next heading of the same or a higher level."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        match = re.match(r"(#+)\s+(.*?)\s*#*$", line)
        if match and match[2].strip().lower() == heading.lower():
            level, body = len(match[1]), []
            for below in lines[i + 1 :]:
                other = re.match(r"(#+)\s", below)
                if other and len(other[1]) <= level:
                    break
                body.append(below)
            return "\n".join(body)
    raise OutputError(f"no heading {heading!r}")


def bullets(text: str) -> list[str]:
    """Top-level list items, without their marks and emphasis."""
    found = (re.match(r"(?:[-*+]|\d+[.)])\s+(.*)", line) for line in text.splitlines())
    return [re.sub(r"[*`]", "", match[1]).strip() for match in found if match]


def inputs_unchanged(workspace: Path) -> bool:
    """Whether every input that is not to be edited is as handed out."""
    for path, content in ORIGINALS.items():
        if path in EDITABLE:
            continue
        target = workspace / path
        if target.is_symlink() or not target.is_file() or target.read_bytes() != content:
            return False
    return True


def run_checks(workspace: Path) -> dict[str, float]:
    """Every check by name. A check that trips over an output gives 0; `inputs_preserved` pays only beside real work."""
    results: dict[str, float] = {}
    for name, function in CHECKS.items():
        try:
            results[name] = min(1.0, max(0.0, float(function(workspace))))
        except AssertionError:
            raise
        except Exception:  # whatever an output holds, it is a wrong output
            results[name] = 0.0
    done = sum(results.values()) >= len(results) / 2
    results["inputs_preserved"] = 1.0 if done and inputs_unchanged(workspace) else 0.0
    return results
