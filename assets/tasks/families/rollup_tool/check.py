"""Verifier of `rollup_tool`: runs the tool in another process, on the handed-out data and on hidden cases."""

from __future__ import annotations

import csv
import fnmatch
import io
import re
import subprocess
import sys
import tempfile
import tomllib
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    ORIGINALS,
    check,
    is_int,
    object_keys,
    original,
    output,
    output_json,
    parse_json,
    rounded,
)

DELIMITER = ","
CODE = 2
NULLS_FIRST = False
CASES: dict[str, dict[str, Any]] = {}

Row = dict[str, str]
Result = tuple[list[dict[str, Any]], dict[str, int]]


def expected(config_text: str, files: dict[str, str]) -> Result:
    """The report by the specification, with exact numbers, and its figures."""
    config = tomllib.loads(config_text)
    source = config["source"]
    chosen = [p for p in sorted(files) if fnmatch.fnmatchcase(p, f"{source['folder']}/{source['pattern']}")]
    rows: list[Row] = []
    for path in chosen:
        table = [row for row in csv.reader(io.StringIO(files[path]), delimiter=DELIMITER) if row]
        rows += [{k.strip(): v.strip() for k, v in zip(table[0], row, strict=False)} for row in table[1:]]
    choice = config.get("filter")
    kept = [row for row in rows if choice is None or row[choice["column"]] in choice["keep"]]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in kept:
        groups.setdefault(tuple(row[column] for column in config["group"]["by"]), []).append(row)
    report = []
    for cells, members in sorted(groups.items()):
        item: dict[str, Any] = dict(zip(config["group"]["by"], cells, strict=True))
        for spec in config["measure"]:
            item[spec["name"]] = value_of(spec, members)
        report.append((cells, item))
    sort = config.get("sort", {})
    if "by" in sort:
        sign = -1 if sort.get("descending") else 1

        def place(entry: tuple[tuple[str, ...], dict[str, Any]]) -> tuple[Any, ...]:
            value = entry[1][sort["by"]]
            value = value[0] if isinstance(value, tuple) else value
            absent = value is None
            return (absent != NULLS_FIRST, 0 if absent else sign * value, entry[0])

        report.sort(key=place)
    figures = {"files": len(chosen), "rows": len(rows), "kept": len(kept), "groups": len(report)}
    return [item for _, item in report][: sort.get("limit", len(report))], figures


def value_of(spec: dict[str, Any], members: list[Row]) -> Any:
    """A count, an exact extreme, None, or (exact value, places) where it is to be rounded."""
    if spec["op"] == "count":
        return len(members)
    cells = [row.get(spec["column"], "") for row in members]
    values = [Decimal(cell) for cell in cells if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", cell)]
    if not values:
        return None
    if spec["op"] in ("min", "max"):
        return min(values) if spec["op"] == "min" else max(values)
    total = sum(values, Decimal(0))
    return (total if spec["op"] == "sum" else total / len(values), spec.get("decimals", 2))


def same(found: Any, wanted: list[dict[str, Any]]) -> bool:
    """Whether a report is the expected one; the order of keys is not judged."""
    if not isinstance(found, list) or [sorted(item) for item in found] != [sorted(item) for item in wanted]:
        return False
    return all(equal(f[key], w[key]) for f, w in zip(found, wanted, strict=True) for key in w)


def equal(found: Any, wanted: Any) -> bool:
    if wanted is None or isinstance(wanted, str):
        return type(found) is type(wanted) and bool(found == wanted)
    if isinstance(found, str):
        return False
    return rounded(found, *wanted) if isinstance(wanted, tuple) else is_int(found, wanted)


# One process runs the tool on every case, each in a fork of its own and in a folder of its own.
DRIVER = """
import argparse, collections, csv, decimal, json, os, pathlib, re, runpy, signal, statistics, sys, tomllib
tool, *folders = sys.argv[1:]
for folder in folders:
    pid = os.fork()
    if pid == 0:
        signal.alarm(5)
        os.chdir(folder)
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
        sys.argv = [tool, "c.toml", "made/out.json"]
        code = 0
        try:
            runpy.run_path(tool, run_name="__main__")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            if code == 1 and isinstance(end.code, str):
                print(end.code, file=sys.stderr)
        except BaseException as error:
            code = 1
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    pathlib.Path(folder, "status").write_text(str(os.waitstatus_to_exitcode(status)))
"""

SAMPLE = original("config/report.toml")
SAMPLE_FILES = {path: original(path) for path in ORIGINALS if path.startswith("data/")}
RUNS: list[tuple[str | None, dict[str, str]]] = [
    (SAMPLE, SAMPLE_FILES),
    *((case["config"], case["files"]) for name, case in CASES.items() if name != "errors"),
    *((config, CASES["defaults"]["files"]) for config in CASES.get("errors", {}).get("configs", [])),
    (None, CASES.get("defaults", {}).get("files", {})),
]
SOUND = ["sample", *(name for name in CASES if name != "errors")]


@lru_cache(maxsize=2)
def run_all(tool: str) -> list[tuple[int, str, str, str | None]]:
    """For each run: exit status, standard output, standard error, and the text of OUT."""
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / f"run{i}" for i in range(len(RUNS))]
        for folder, (config, files) in zip(folders, RUNS, strict=True):
            for path, text in (*files.items(), *((("c.toml", config),) if config is not None else ())):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, "utf-8")
        script = Path(name) / "elsewhere.py"
        script.write_text(tool, "utf-8")
        command = [sys.executable, "-I", "-c", DRIVER, str(script), *map(str, folders)]
        subprocess.run(command, capture_output=True, timeout=25)
        return [result_of(folder) for folder in folders]


def result_of(folder: Path) -> tuple[int, str, str, str | None]:
    def text(path: str) -> str | None:
        return (folder / path).read_text("utf-8") if (folder / path).is_file() else None

    return int(text("status") or "-1"), text("stdout") or "", text("stderr") or "", text("made/out.json")


def passes(workspace: Path, name: str) -> bool:
    """Whether the tool gives the right report and line for a sound case."""
    at = SOUND.index(name)
    config, files = RUNS[at]
    wanted, figures = expected(config or "", files)
    code, stdout, _, text = run_all(output(workspace, "tools/rollup.py"))[at]
    line = f"{len(wanted)} groups from {figures['kept']} rows in {figures['files']} files"
    return code == 0 and text is not None and same(parse_json(text), wanted) and stdout.strip() == line


@check
def report_right(workspace: Path) -> float:
    return same(output_json(workspace, "output/report.json"), expected(SAMPLE, SAMPLE_FILES)[0])


@check
def facts_right(workspace: Path) -> float:
    figures = expected(SAMPLE, SAMPLE_FILES)[1]
    found = object_keys(output_json(workspace, "output/facts.json"), list(figures))
    return all(is_int(found[key], value) for key, value in figures.items())


@check
def tool_makes_report(workspace: Path) -> float:
    return passes(workspace, "sample")


@check
def filter_and_groups(workspace: Path) -> float:
    return passes(workspace, "filter")


@check
def all_measures(workspace: Path) -> float:
    return passes(workspace, "measures")


@check
def sorting_and_limit(workspace: Path) -> float:
    return passes(workspace, "sort")


@check
def missing_values(workspace: Path) -> float:
    return passes(workspace, "missing")


@check
def defaults(workspace: Path) -> float:
    return passes(workspace, "defaults")


@check
def errors_reported(workspace: Path) -> float:
    """Each faulty setting: the right status, one line on stderr, nothing else; and a sound run beside them."""
    for code, stdout, stderr, text in run_all(output(workspace, "tools/rollup.py"))[len(SOUND) :]:
        lines = stderr.strip().splitlines()
        if code != CODE or stdout.strip() or text is not None or len(lines) != 1 or not lines[0].startswith("error: "):
            return 0.0
    return passes(workspace, "defaults")


@lru_cache(maxsize=2)
def tests_pass(tool: str) -> bool:
    with tempfile.TemporaryDirectory() as name:
        for path in ("tests/test_rollup.py", "tests/__init__.py"):
            (Path(name) / path).parent.mkdir(exist_ok=True)
            (Path(name) / path).write_bytes(ORIGINALS[path])
        (Path(name) / "tools").mkdir()
        (Path(name) / "tools/rollup.py").write_text(tool, "utf-8")
        command = [sys.executable, "-I", "-m", "unittest", "discover", "-s", "tests", "-t", "."]
        return subprocess.run(command, cwd=name, capture_output=True, timeout=30).returncode == 0


@check
def given_tests_pass(workspace: Path) -> float:
    """The handed-out tests, beside a run that cannot be faked by ending the process early."""
    return passes(workspace, "defaults") and tests_pass(output(workspace, "tools/rollup.py"))
