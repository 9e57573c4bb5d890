"""Verifier of `bugfix_package`: calls the mended functions in another process and compares them with its own."""

from __future__ import annotations

import ast
import json
import math
import re
import subprocess
import sys
import tempfile
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from assets.tasks.prelude import ORIGINALS, OutputError, check, original, output, output_csv, output_json, section

VALUES: dict[str, Any] = {}
FAULTY: list[str] = []
HIDDEN: list[str] = []
CALLS: list[list[Any]] = []
SOURCES = ("src/__init__.py", "src/codes.py", "src/pricing.py", "src/schedule.py")

DRIVER = """
import json, sys
from datetime import date
sys.path.insert(0, sys.argv[1])
import importlib
calls, results = json.load(sys.stdin), []
for module, name, arguments in calls:
    try:
        if name == "delivery_day":
            start, days, free = arguments
            arguments = [date.fromisoformat(start), days, tuple(date.fromisoformat(d) for d in free)]
        elif name == "overlap":
            arguments = [tuple(a) for a in arguments]
        value = getattr(importlib.import_module("src." + module), name)(*arguments)
        results.append(value.isoformat() if isinstance(value, date) else value)
    except Exception as error:
        results.append({"error": type(error).__name__})
with open(sys.argv[2], "w") as handle:
    json.dump(results, handle)
"""


def expected(name: str, arguments: list[Any]) -> Any:
    """What the specification says, written anew."""
    v = VALUES
    if name == "billable_weight":
        kg, a, b, c = arguments
        halves = math.ceil(max(kg, a * b * c / v["DIVISOR"]) * 2)
        return halves / 2
    if name == "base_fee":
        over = arguments[0] - v["BAND2"]
        if over > 0:
            return v["FEE2"] + v["EXTRA"] * math.ceil(over)
        return v["FEE1"] if arguments[0] <= v["BAND1"] else v["FEE2"]
    if name == "discounted":
        total, parcels = arguments
        return total if parcels < v["MANY"] else total * (100 - v["PERCENT"]) // 100
    if name == "normalise":
        return re.sub("[ -]", "", arguments[0]).upper()
    if name == "check_digit":
        odd, even = (sum(map(int, arguments[0][k::2])) for k in (0, 1))
        return -(v["W1"] * odd + v["W2"] * even) % 10
    if name == "is_valid":
        text = re.sub("[ -]", "", arguments[0]).upper()
        match = re.fullmatch(rf"{v['PREFIX']}(\d{{{v['LENGTH'] - 1}}})(\d)", text)
        return match is not None and int(match[2]) == expected("check_digit", [match[1]])
    if name == "delivery_day":
        day, left = date.fromisoformat(arguments[0]), arguments[1]
        while left:
            day += timedelta(1)
            left -= day.isoweekday() < 6 and day.isoformat() not in arguments[2]
        return day.isoformat()
    if name == "overlap":
        (a, b), (c, d) = arguments
        return len(set(range(a, b)) & set(range(c, d)))
    opening, closing, length = arguments
    starts = []
    while opening + length <= closing:
        starts.append(opening)
        opening += length
    return starts


def sources(workspace: Path) -> tuple[str, ...]:
    return tuple(output(workspace, path) for path in SOURCES)


@lru_cache(maxsize=4)
def call_all(texts: tuple[str, ...]) -> list[Any]:
    """Values of the hidden calls with these modules, in another process."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "src").mkdir()
        for path, text in zip(SOURCES, texts, strict=True):
            (Path(folder) / path).write_text(text, "utf-8")
        answer = Path(folder) / "answer.json"
        command = [sys.executable, "-I", "-c", DRIVER, folder, str(answer)]
        subprocess.run(command, input=json.dumps(CALLS), text=True, capture_output=True, timeout=20, cwd=folder)
        return list(json.loads(answer.read_text())) if answer.is_file() else []


def results(workspace: Path) -> list[Any]:
    found = call_all(sources(workspace))
    if len(found) != len(CALLS):
        raise OutputError("the modules cannot be imported, or do not come back")
    return found


def right(workspace: Path, wanted: set[str]) -> bool:
    """Whether all calls of the wanted modules or `module.function`s give what the specification says."""
    chosen = [(c, r) for c, r in zip(CALLS, results(workspace), strict=True) if {c[0], f"{c[0]}.{c[1]}"} & wanted]
    return bool(chosen) and all(
        type(result) is type(value) and result == value
        for (_, name, arguments), result in chosen
        for value in [expected(name, arguments)]
    )


@lru_cache(maxsize=4)
def run_tests(texts: tuple[str, ...]) -> tuple[list[str], bool]:
    """Names of failing test methods, and whether all passed, of the handed-out tests on these modules."""
    with tempfile.TemporaryDirectory() as folder:
        for path, content in ORIGINALS.items():
            if path.startswith(("src/", "tests/")):
                target = Path(folder) / path
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(content)
        for path, text in zip(SOURCES, texts, strict=True):
            (Path(folder) / path).write_text(text, "utf-8")
        command = [sys.executable, "-I", "-m", "unittest", "discover", "-s", "tests", "-t", "."]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=folder)
    failing = re.findall(r"^(?:FAIL|ERROR): (test_\w+)", done.stderr, re.MULTILINE)
    return sorted(set(failing)), done.returncode == 0 and not failing


FAILING, _ = run_tests(tuple(original(path) for path in SOURCES))


@check
def pricing_follows_spec(workspace: Path) -> float:
    return right(workspace, {"pricing"})


@check
def codes_follows_spec(workspace: Path) -> float:
    return right(workspace, {"codes"})


@check
def schedule_follows_spec(workspace: Path) -> float:
    return right(workspace, {"schedule"})


@check
def hidden_fault_mended(workspace: Path) -> float:
    return right(workspace, set(HIDDEN))


@check
def given_tests_pass(workspace: Path) -> float:
    """The handed-out tests, and the functions they show as faulty, so that faking a test run gains nothing."""
    return right(workspace, set(FAULTY) - set(HIDDEN)) and run_tests(sources(workspace))[1]


def definitions(text: str) -> dict[str, str]:
    """Code of each definition of a module; of a faulty function only its docstring, the rest may change."""
    module = ast.parse(text)
    return {
        getattr(node, "name", f"line {i}"): str(ast.get_docstring(node))
        if isinstance(node, ast.FunctionDef) and any(label.endswith(f".{node.name}") for label in FAULTY)
        else ast.dump(node)
        for i, node in enumerate(module.body)
    }


@check
def only_faults_changed(workspace: Path) -> float:
    """Everything is right now, and what was right before is as it was."""
    kept = all(
        set(definitions(original(path)).items()) <= set(definitions(output(workspace, path)).items())
        for path in SOURCES[1:]
    )
    return kept and right(workspace, {"pricing", "codes", "schedule"})


@check
def failing_tests_listed(workspace: Path) -> float:
    return bool(FAILING) and output_json(workspace, "output/failing_before.json") == FAILING


@check
def fixes_listed(workspace: Path) -> float:
    rows = output_csv(workspace, "output/fixes.csv", ["module", "function", "caught_by_tests"])
    wanted = [[*label.split("."), "no" if label in HIDDEN else "yes"] for label in sorted(FAULTY)]
    return [[row["module"], row["function"], row["caught_by_tests"].lower()] for row in rows] == wanted


@check
def changelog_extended(workspace: Path) -> float:
    """One entry with words for each mended function, below Unreleased; everything older as it was."""
    text = output(workspace, "CHANGELOG.md")
    entries = [line.strip() for line in section(text, "Unreleased").splitlines() if line.strip()]
    found = [re.fullmatch(r"[-*] Fix `([\w.]+)`: \S.{3,}", line) for line in entries]
    before, after = original("CHANGELOG.md").split("## Unreleased")
    kept = (
        text.split("## Unreleased")[0].split() == before.split()
        and text.split()[-len(after.split()) :] == after.split()
    )
    return kept and len(found) == len(FAULTY) and sorted(match[1] for match in found if match) == sorted(FAULTY)
