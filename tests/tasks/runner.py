"""Helpers of the family tests: lay out a workspace, follow a plan, run a verifier, make mutants of outputs.

Belongs here: what several test files need. The executor knows OpenClaw's four tools in their plainest form.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assets.personas.builtin import personas
from assets.tasks.bundle import TaskBundle
from assets.tasks.families import families
from assets.tasks.plan import Flaw, Plan, Step

PERSONA = next(personas(1, 1))
SEEDS = (0, 1)
FAMILIES = sorted(families())
CASES = [(name, seed) for name in FAMILIES for seed in SEEDS]


def bundle(name: str, seed: int) -> TaskBundle:
    return families()[name].generate(seed, PERSONA)


@contextmanager
def workspace(*layers: Mapping[str, bytes]) -> Iterator[Path]:
    """A temporary folder with the files of the layers, later ones over earlier ones."""
    with tempfile.TemporaryDirectory(prefix="clawgym-test-") as temporary:
        root = Path(temporary)
        for files in layers:
            for path, content in files.items():
                target = root / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        yield root


class Verifier:
    """A verifier loaded once and called many times in this process; only for verifiers of ours."""

    def __init__(self, task: TaskBundle) -> None:
        self.protocol = task.verifier_protocol
        self.names: dict[str, Any] = {"__name__": "verifier"}
        exec(compile(task.reward["check.py"], f"{task.task_id}/check.py", "exec"), self.names)

    def checks(self, root: Path) -> dict[str, float]:
        if self.protocol == "grade_floats":
            return dict(self.names["grade"]([], str(root)))
        return {name: float(value) for name, value in self.names["evaluate"](str(root)).items() if name != "reward"}

    def score(self, root: Path) -> float:
        values = self.checks(root)
        return sum(values.values()) / len(values)


def run_cli(task: TaskBundle, root: Path) -> dict[str, Any]:
    """What `check.py` prints, run as the graders of ClawGym run it."""
    with workspace(task.reward) as reward:
        done = subprocess.run(
            ["/usr/bin/python3", "-I", str(reward / "check.py"), str(root)], capture_output=True, text=True, timeout=60
        )
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return value


def follow(root: Path, steps: Sequence[Step]) -> list[str | None]:
    """Do the steps; the error of each, None where it went well."""
    return [_do(root, step) for step in steps]


def flawed(plan: Plan, flaw: Flaw) -> list[Step]:
    return [flaw.replace.get(i, step) for i, step in enumerate(plan.steps) if i not in flaw.drop]


def _do(root: Path, step: Step) -> str | None:
    arguments = step.arguments
    if step.tool == "exec":
        done = subprocess.run(
            ["/bin/sh", "-c", arguments["command"]],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=60,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        return None if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-500:]}"
    target = root / arguments["path"]
    if step.tool == "write":
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(arguments["content"], "utf-8")
        return None
    if not target.is_file():
        return f"ENOENT: {arguments['path']}"
    text = target.read_bytes().decode("utf-8", "replace")
    if step.tool == "edit":
        for pair in arguments["edits"]:
            if text.count(pair["oldText"]) != 1:
                return f"{pair['oldText']!r} occurs {text.count(pair['oldText'])} times"
        for pair in arguments["edits"]:
            text = text.replace(pair["oldText"], pair["newText"])
        target.write_text(text, "utf-8")
    return None


# --- mutants ------------------------------------------------------------------------------------------------------


def mutants(path: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Named damaged versions of an output; each is truly another content."""
    text = content.decode("utf-8")
    suffix = path.rsplit(".", 1)[-1]
    makers: dict[str, Callable[[str], Iterator[tuple[str, str]]]] = {"csv": _csv, "json": _json, "jsonl": _jsonl}
    yield "truncated", text[: len(text) // 2].encode()
    for name, changed in makers.get(suffix, _lines)(text):
        if changed != text:
            yield name, changed.encode()


def _csv(text: str) -> Iterator[tuple[str, str]]:
    rows = list(csv.reader(io.StringIO(text)))

    def joined(changed: list[list[str]]) -> str:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows(changed)
        return buffer.getvalue()

    for i in range(1, len(rows)):
        yield f"dropped_row:{i}", joined(rows[:i] + rows[i + 1 :])
    for i in range(1, len(rows) - 1):
        yield f"swapped_rows:{i}", joined([*rows[:i], rows[i + 1], rows[i], *rows[i + 2 :]])
    for column, name in enumerate(rows[0]):
        yield f"renamed:{name}", joined([[*rows[0][:column], f"{name}_x", *rows[0][column + 1 :]], *rows[1:]])
    for i in range(1, len(rows)):
        for column, cell in enumerate(rows[i]):
            if re.fullmatch(r"-?\d+(\.\d+)?", cell):
                cells = [*rows[i][:column], _bumped(cell), *rows[i][column + 1 :]]
                yield f"number:{i}:{rows[0][column]}", joined([*rows[:i], cells, *rows[i + 1 :]])


def _bumped(number: str) -> str:
    return f"{float(number) + 1:.{len(number.split('.')[1])}f}" if "." in number else str(int(number) + 1)


def _json(text: str) -> Iterator[tuple[str, str]]:
    value = json.loads(text)
    for name, changed in _values(value, "$"):
        yield name, json.dumps(changed, indent=2)


def _jsonl(text: str) -> Iterator[tuple[str, str]]:
    for name, changed in _values([json.loads(line) for line in text.splitlines()], "$"):
        if isinstance(changed, list):
            yield name, "".join(json.dumps(item) + "\n" for item in changed)


def _values(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Every one-place change of a JSON value."""
    if isinstance(value, bool):
        yield f"flipped:{where}", not value
    elif isinstance(value, int | float):
        yield f"number:{where}", value + 1
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield f"dropped:{where}[{i}]", value[:i] + value[i + 1 :]
            for name, changed in _values(item, f"{where}[{i}]"):
                yield name, [*value[:i], changed, *value[i + 1 :]]
        if len(value) > 1 and value != value[::-1]:
            yield f"reversed:{where}", value[::-1]
    elif isinstance(value, dict):
        for key, item in value.items():
            yield f"renamed:{where}.{key}", {f"{k}_x" if k == key else k: v for k, v in value.items()}
            yield f"dropped:{where}.{key}", {k: v for k, v in value.items() if k != key}
            for name, changed in _values(item, f"{where}.{key}"):
                yield name, {**value, key: changed}


def _lines(text: str) -> Iterator[tuple[str, str]]:
    lines = text.split("\n")
    solid = [i for i, line in enumerate(lines) if line.strip() and not re.fullmatch(r"[\s|:-]+", line)]
    for i in solid:
        yield f"dropped_line:{i}:{lines[i][:30]}", "\n".join(lines[:i] + lines[i + 1 :])
    for i in solid:
        for match in re.finditer(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", lines[i]):
            line = lines[i][: match.start()] + _bumped(match[0]) + lines[i][match.end() :]
            yield f"number:{i}:{lines[i][:30]}", "\n".join([*lines[:i], line, *lines[i + 1 :]])
    tables = [(i, i + 1) for i in solid if i + 1 in solid and lines[i].startswith("|") and lines[i + 1].startswith("|")]
    for i, j in tables:
        if not re.fullmatch(r"[\s|:-]+", lines[i - 1] if i else ""):
            yield f"swapped_lines:{i}", "\n".join([*lines[:i], lines[j], lines[i], *lines[j + 1 :]])


def sampled(found: list[tuple[str, bytes]], limit: int, seed: str) -> list[tuple[str, bytes]]:
    return found if len(found) <= limit else random.Random(seed).sample(found, limit)
