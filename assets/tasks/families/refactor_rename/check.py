"""Verifier of `refactor_rename`: renames at the places that are meant in the handed-out files, and compares.

Python files are compared as syntax trees, so layout is free; imports as sets.
"""

from __future__ import annotations

import ast
import io
import tokenize
from functools import lru_cache
from pathlib import Path
from typing import Any

from assets.tasks.prelude import check, original, original_csv, output, output_csv, section, share

PLACES: list[Any] = []
RENAMES = original_csv("refactor/renames.csv")
NEW = {row["old"]: row["new"] for row in RENAMES}
ALIAS = next(row for row in RENAMES if row["alias"] == "yes")
MODULE = f"stock/{ALIAS['where']}.py"


@lru_cache(maxsize=64)
def wanted(path: str) -> str:
    """The handed-out file with the new names; places are taken from the right so that columns stay true."""
    lines = original(path).split("\n")
    for _, line, column, name in sorted((p for p in PLACES if p[0] == path), reverse=True):
        text = lines[line]
        if text[column : column + len(name)] != name:
            raise AssertionError(f"{path}:{line} has no {name} at {column}")
        lines[line] = text[:column] + NEW[name] + text[column + len(name) :]
    return "\n".join(lines)


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_alias(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == ALIAS["old"] for target in node.targets
    )


@lru_cache(maxsize=64)
def code(text: str) -> tuple[list[str], list[str]]:
    """Statements in order without docstrings and aliases, and imported names in no order."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and is_docstring(body[0]):
            body[0] = ast.Pass()
    statements, imports = [], []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            imports += [f"{node.module} {alias.name} {alias.asname}" for alias in node.names]
        elif isinstance(node, ast.Import):
            imports += [f"{alias.name} {alias.asname}" for alias in node.names]
        elif not is_alias(node):
            statements.append(ast.dump(node))
    return statements, sorted(imports)


def same_code(workspace: Path, path: str) -> bool:
    return code(output(workspace, path)) == code(wanted(path))


@lru_cache(maxsize=64)
def words(text: str) -> list[str]:
    """Comments, and docstrings line by line, in order."""
    found = [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT]
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and is_docstring(body[0]):
            found += str(body[0].value.value).split("\n")
    return [" ".join(line.split()) for line in found if line.strip()]


@check
def package_exports(workspace: Path) -> float:
    return same_code(workspace, "stock/__init__.py")


@check
def models_code(workspace: Path) -> float:
    return same_code(workspace, "stock/models.py")


@check
def pricing_code(workspace: Path) -> float:
    return same_code(workspace, "stock/pricing.py")


@check
def store_code(workspace: Path) -> float:
    return same_code(workspace, "stock/store.py")


@check
def report_code(workspace: Path) -> float:
    return same_code(workspace, "stock/report.py")


@check
def cli_code(workspace: Path) -> float:
    return same_code(workspace, "stock/cli.py")


@check
def tests_code(workspace: Path) -> float:
    return same_code(workspace, "tests/test_stock.py")


@check
def alias_kept(workspace: Path) -> float:
    """Exactly one alias, in its module, after the definition of what it stands for."""
    body = ast.parse(output(workspace, MODULE)).body
    names = [getattr(node, "name", "") for node in body]
    found = [i for i, node in enumerate(body) if is_alias(node)]
    return (
        len(found) == 1
        and ALIAS["new"] in names[: found[0]]
        and ast.unparse(body[found[0]]) == f"{ALIAS['old']} = {ALIAS['new']}"
    )


@check
def comments_and_docstrings(workspace: Path) -> float:
    """Of the modules and tests together; those without a name in them have to be kept."""
    paths = sorted({path for path, *_ in PLACES if path.endswith(".py")})
    changed = [path for path in paths if words(wanted(path)) != words(original(path))]
    return share(sum(words(output(workspace, path)) == words(wanted(path)) for path in changed), len(changed))


@check
def other_comments_kept(workspace: Path) -> float:
    """Whole files: nothing is renamed in words only, nothing of a module is gone."""
    paths = sorted({path for path, *_ in PLACES if path.endswith(".py")})
    return all(words(output(workspace, path)) == words(wanted(path)) and same_code(workspace, path) for path in paths)


def same_text(workspace: Path, path: str) -> bool:
    """Line by line, without empty lines and blanks at the ends."""
    pairs = [
        [line.strip() for line in text.splitlines() if line.strip()] for text in (output(workspace, path), wanted(path))
    ]
    return pairs[0] == pairs[1]


@check
def usage_document(workspace: Path) -> float:
    return same_text(workspace, "docs/usage.md")


@check
def readme_document(workspace: Path) -> float:
    return same_text(workspace, "README.md")


@check
def changelog_extended(workspace: Path) -> float:
    text = output(workspace, "CHANGELOG.md")
    entries = [line.strip() for line in section(text, "Unreleased").splitlines() if line.strip()]
    before, after = original("CHANGELOG.md").split("## Unreleased")
    names = [(f"{row['where']}.{row['old']}", row["new"]) for row in RENAMES]
    kept = (
        text.split("## Unreleased")[0].split() == before.split()
        and text.split()[-len(after.split()) :] == after.split()
    )
    return kept and [entry.lstrip("-* ") for entry in entries] == [f"Rename `{old}` to `{new}`." for old, new in names]


@check
def touched_files_listed(workspace: Path) -> float:
    found = output_csv(workspace, "output/touched.csv", ["name", "file"])
    full = {row["old"]: f"{row['where']}.{row['old']}" for row in RENAMES}
    return [(row["name"], row["file"]) for row in found] == sorted({(full[name], path) for path, _, _, name in PLACES})
