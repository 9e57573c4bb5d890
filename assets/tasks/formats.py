"""File formats of workspace files: the name by suffix, and whether a content parses as it.

Belongs here: the one list of formats that tasks, workspaces and audits share. Standard parsers only.
"""

from __future__ import annotations

import ast
import configparser
import csv
import io
import json
import tomllib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import Final

import yaml

from lake.ids import sha256_hex

BY_SUFFIX: Final = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".md": "md", ".yaml": "yaml", ".yml": "yaml",
    ".html": "html", ".htm": "html", ".log": "log", ".ini": "ini", ".cfg": "ini", ".conf": "ini", ".toml": "toml",
    ".py": "py", ".sh": "sh", ".txt": "text", ".eml": "eml", ".xml": "xml",
}  # fmt: skip


def format_of(path: str, content: bytes) -> str:
    """Format by suffix; `binary` when the content is not UTF-8 text, `text` for unknown suffixes."""
    known = BY_SUFFIX.get(PurePosixPath(path).suffix.lower())
    if known:
        return known
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "binary"
    return "binary" if b"\0" in content else "text"


def parse_problem(name: str, content: bytes) -> tuple[bool | None, str | None]:
    """Whether a content parses as a format, and why not; (None, None) where there is no parser for it."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return (None, None) if name == "binary" else (False, f"not UTF-8 at byte {error.start}")
    parser = _PARSERS.get(name)
    if parser is None:
        return None, None
    try:
        parser(text)
    except (ValueError, SyntaxError, csv.Error, yaml.YAMLError, configparser.Error, RecursionError) as error:
        return False, " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return True, None


def manifest_entry(path: str, content: bytes) -> dict[str, str | int]:
    """One entry of a manifest as events carry it."""
    return {
        "path": path,
        "sha256": sha256_hex(content),
        "size": len(content),
        "mode": 0o644,
        "kind": "file",
        "format": format_of(path, content),
    }


def _csv(text: str, delimiter: str = ",") -> None:
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
    ragged = [i for i, row in enumerate(rows, 1) if len(row) != len(rows[0])]
    if ragged:
        raise ValueError(f"row {ragged[0]} has {len(rows[ragged[0] - 1])} fields, the header {len(rows[0])}")


def _jsonl(text: str) -> None:
    for i, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                json.loads(line)
            except ValueError as error:
                raise ValueError(f"line {i}: {error}") from error


def _html(text: str) -> None:
    parser = HTMLParser()
    parser.feed(text)
    parser.close()


def _ini(text: str) -> None:
    configparser.ConfigParser(interpolation=None).read_string(text)


_PARSERS: Final[dict[str, Callable[[str], object]]] = {
    "csv": _csv,
    "tsv": lambda text: _csv(text, "\t"),
    "json": json.loads,
    "jsonl": _jsonl,
    "yaml": lambda text: list(yaml.safe_load_all(text)),
    "html": _html,
    "ini": _ini,
    "toml": tomllib.loads,
    "py": ast.parse,
}
