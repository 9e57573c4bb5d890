"""Lints of a task's verifier and instruction: what can be known without running anything.

Belongs here: `missing_input` (a named input that is not there) and `in_process` (a verifier that runs the agent's code
in its own process, where that code could make up the score). Does not belong here: lints of a family's own style
(`assets/tasks/lint.py`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from assets.tasks import TaskBundle
from assets.tasks.lint import missing_inputs

_RUNS_CODE = {"exec", "eval", "compile", "__import__"}
_LOADS_CODE = {
    "importlib.import_module", "importlib.util.spec_from_file_location", "importlib.machinery.SourceFileLoader",
    "runpy.run_path", "runpy.run_module", "sys.path.insert", "sys.path.append", "imp.load_source", "site.addsitedir",
}  # fmt: skip
_INPUT_NAME = re.compile(r"^(?:\./)?((?:[\w.-]+/)+[\w.-]+\.[A-Za-z]\w{0,5})$")


def missing_input(bundle: TaskBundle) -> list[str]:
    """Input paths that instruction or verifier name and that are not there, sorted."""
    there = {*bundle.inputs, *bundle.expected_outputs, *(bundle.oracle or {})}
    folders = {"input", *(path.split("/")[0] for path in bundle.inputs if "/" in path)}
    folders -= {path.split("/")[0] for path in bundle.expected_outputs} - {"input"}
    named = {
        match[1]
        for _, tree in _sources(bundle)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (match := _INPUT_NAME.match(node.value))
    }
    by_verifier = {path for path in named - there if path.split("/")[0] in folders}
    return sorted({path for path in missing_inputs(bundle) if path not in there} | by_verifier)


def in_process(bundle: TaskBundle) -> list[str]:
    """Calls by which a verifier could run code of the workspace in its own process, as `file:line call`, sorted."""
    found = []
    for name, tree in _sources(bundle):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in _LOADS_CODE or (isinstance(node.func, ast.Name) and called in _RUNS_CODE):
                    found.append(f"{name}:{node.lineno} {called}")
    return sorted(found)


def _sources(bundle: TaskBundle) -> Iterator[tuple[str, ast.Module]]:
    """The verifier's Python files that parse; one that does not is the verifier's error when it is run."""
    for path, data in sorted(bundle.reward.items()):
        if path.endswith(".py"):
            tree = _parsed(data)
            if tree is not None:
                yield path, tree


@lru_cache(maxsize=4)
def _parsed(data: bytes) -> ast.Module | None:
    """The tree of a file, which every lint asks for; null where it has none."""
    try:
        return ast.parse(data)
    except (SyntaxError, ValueError):
        return None
