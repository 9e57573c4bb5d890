"""House rules of the `.sql` files, checked on their text and against what they really read."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

import sql
from lake import Lake
from lake.engine import view_definitions
from lake.schema import TABLES

FILES = sorted(sql.ROOT.rglob("*.sql"))
VIEWS = sorted((sql.ROOT / "views").glob("*.sql"))
KEYWORDS = set(
    """
    select from where group by order join left on with as case when and or not null union distinct count over limit
    create view filter coalesce
    """.split()  # noqa: SIM905 - a list of words reads better so
)


def ident(path: Path) -> str:
    return str(path.relative_to(sql.ROOT))


def header(text: str) -> dict[str, str]:
    """The `-- name: value` lines of the header, and its first line as `title`."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    found = {"title": lines[0] if lines else ""}
    for line in lines:
        for part in line.split("; "):
            name, colon, value = part.partition(": ")
            if colon and name in ("grain", "key", "inputs", "parameters"):
                found[name] = f"{found.get(name, '')} {value}".strip()
    return found


def code(text: str) -> str:
    """The text without comments and string literals."""
    return re.sub(r"'(?:[^']|'')*'", "''", re.sub(r"--[^\n]*", "", text))


@pytest.mark.parametrize("path", FILES, ids=ident)
def test_has_a_header(path: Path) -> None:
    found = header(path.read_text())
    assert found["title"] and found.get("inputs")
    if path.parent.name != "examples":
        assert found.get("grain")
    if path.parent.name == "views":
        assert found.get("key")


@pytest.mark.parametrize("path", FILES, ids=ident)
def test_keywords_are_lower_case(path: Path) -> None:
    words = set(re.findall(r"\b[A-Z]{2,}\b", code(path.read_text())))
    assert {word for word in words if word.lower() in KEYWORDS} == set()


@pytest.mark.parametrize("path", FILES, ids=ident)
def test_is_one_statement_and_short_lines(path: Path) -> None:
    text = path.read_text()
    assert len(duckdb.extract_statements(text)) == 1
    assert [line for line in text.splitlines() if len(line) > 160] == []


@pytest.mark.parametrize("path", FILES, ids=ident)
def test_inputs_are_what_it_reads(path: Path) -> None:
    """Every table or view after `from` or `join` is named in the header, and nothing else is."""
    text = path.read_text()
    named = set(re.findall(r"[a-z_]+", re.sub(r"\([^)]*\)", "", header(text)["inputs"])))
    known = set(TABLES) | set(view_definitions())
    local = set(re.findall(r"(?:\bwith|,)\s+([a-z_]+)(?:\s*\([^)]*\))?\s+as\s*\(", code(text)))
    read = set(re.findall(r"\b(?:from|join)\s+([a-z_]+)", code(text))) - local
    assert read & known == named & known
    assert named <= known


@pytest.mark.parametrize("path", [p for p in FILES if p.parent.name != "views"], ids=ident)
def test_parameters_are_named_in_the_header(path: Path) -> None:
    text = path.read_text()
    used = set(re.findall(r"\$([a-z_]+)", code(text)))
    named = header(text).get("parameters", "")
    assert used <= set(re.findall(r"[a-z_]+", named))
    assert set(re.findall(r"\$([a-z_]+)", named)) <= used


@pytest.mark.parametrize("path", VIEWS, ids=ident)
def test_the_key_of_a_view_is_one(path: Path, mini: Lake) -> None:
    name = re.sub(r"^\d+_", "", path.stem)
    key = header(path.read_text())["key"].rstrip(".")
    found = mini.sql(f"select count(*), count(distinct ({key})) from {name}").fetchone()
    assert found is not None
    assert found[0] == found[1] > 0


def test_views_come_after_what_they_use() -> None:
    order = list(view_definitions())
    for position, (name, text) in enumerate(view_definitions().items()):
        used = set(re.findall(r"\b(?:from|join)\s+([a-z_]+)", code(text))) & set(order)
        assert used <= set(order[:position]), name
