"""Puts a family's verifier together: one self-contained `check.py` in one of the two ClawGym protocols.

Belongs here: assembling text. The handed-out inputs are embedded, not their digests and not expected values: the
verifier computes what is right from its own copy, so tampering with inputs cannot make a wrong output right, an agent
that damages an input loses that check alone, and tasks that edit inputs in place work the same way.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from lake.errors import StageError

_PRELUDE: Final = Path(__file__).with_name("prelude.py")

_FLOATS_TAIL: Final = '''
def grade(transcript: list, workspace_path: str) -> dict:
    """Every named check as a float in 0..1. The transcript is not used: only the final files count."""
    return run_checks(Path(workspace_path))


if __name__ == "__main__":
    import sys

    print(json.dumps(grade([], sys.argv[1] if len(sys.argv) > 1 else ".")))
'''

_REWARD_TAIL: Final = '''
def evaluate(workspace_path: str) -> dict:
    """`reward` first, then every named check as a boolean; reward = passed / all."""
    passed = {name: value >= 1.0 for name, value in run_checks(Path(workspace_path)).items()}
    return {"reward": round(sum(passed.values()) / len(passed), 6), **passed}


if __name__ == "__main__":
    import sys

    print(json.dumps(evaluate(sys.argv[1] if len(sys.argv) > 1 else ".")))
'''


def assemble(
    body: str,
    *,
    task_id: str,
    originals: Mapping[str, bytes],
    editable: Sequence[str],
    constants: Mapping[str, Any],
    outputs: Sequence[str],
    protocol: str,
) -> bytes:
    """The text of `check.py`: prelude, embedded inputs, the family's checks, the protocol's tail."""
    parts = [
        f'"""Verifier of the task {task_id}. Standard library only; usage: check.py [workspace]."""\n',
        "from __future__ import annotations\n",
        _prelude(),
        _embedded(originals),
        f"EDITABLE = {tuple(editable)!r}\nOUTPUTS = {tuple(outputs)!r}\n",
        _stripped(with_constants(body, constants)),
        _FLOATS_TAIL if protocol == "grade_floats" else _REWARD_TAIL,
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts).encode("utf-8")


def with_constants(source: str, values: Mapping[str, Any]) -> str:
    """Replace the values of top-level one-line constants `NAME = …` (or `NAME: type = …`).

    Raises:
        StageError: a name is not assigned exactly once that way; the family and its file disagree.
    """
    for name, value in values.items():
        found = list(re.finditer(rf"^{re.escape(name)}(?:: [^=\n]+)? = (.*)$", source, re.MULTILINE))
        if len(found) != 1:
            raise StageError(
                f"constant {name} is assigned {len(found)} times on one line at top level; mend the family's file"
            )
        source = source[: found[0].start(1)] + ascii(value) + source[found[0].end(1) :]
    return source


@lru_cache(maxsize=1)
def _prelude() -> str:
    return _stripped(_PRELUDE.read_text("utf-8"))


@lru_cache(maxsize=64)
def _cut_lines(source: str) -> tuple[tuple[int, int], ...]:
    """Line ranges (from 1, inclusive) of the docstring, the future import and imports of this project."""
    tree = ast.parse(source)
    ranges = []
    for i, node in enumerate(tree.body):
        docstring = i == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ours = isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("__future__", "assets")
        if docstring or ours:
            ranges.append((node.lineno, node.end_lineno or node.lineno))
    return tuple(ranges)


def _stripped(source: str) -> str:
    """The source without what only the repository needs."""
    cut = {line for first, last in _cut_lines(source) for line in range(first, last + 1)}
    return "\n".join(text for i, text in enumerate(source.split("\n"), 1) if i not in cut).strip("\n")


def _embedded(originals: Mapping[str, bytes]) -> str:
    lines = ["ORIGINALS = {"]
    for path, content in sorted(originals.items()):
        lines.append(f"    {path!a}: (")
        lines += [f"        {piece!a}" for piece in content.splitlines(keepends=True) or [b""]]
        lines.append("    ),")
    return "\n".join([*lines, "}"]) + "\n"
