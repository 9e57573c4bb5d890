"""Lint of a whole task: what can be seen without running its verifier.

Belongs here: leaks, missing inputs, lengths, names. Does not belong here: the table checks made of it (`checks.py`),
running verifiers (`audits`).
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import Final

from assets.tasks.bundle import TaskBundle
from assets.tasks.taxonomy import BENCH_CATEGORIES, OFFLINE_OPERATIONS, SCENARIOS

WORDS: Final = (90, 650)
"""Bounds of an instruction's length in words."""
_PATH: Final = re.compile(r"(?<![\w./-])((?:[\w.-]+/)+[\w.-]*\w)")


def named_paths(instruction: str) -> set[str]:
    """Paths with a folder and a suffix that an instruction names."""
    return {path for path in _PATH.findall(instruction) if re.search(r"\.[A-Za-z]\w{0,5}$", path)}


def missing_inputs(bundle: TaskBundle) -> list[str]:
    """Paths that the instruction names in a folder of the inputs (or `input/`), neither there nor asked for."""
    folders = {"input", *(path.split("/")[0] for path in bundle.inputs if "/" in path)}
    named = named_paths(bundle.instruction) - set(bundle.inputs) - set(bundle.expected_outputs)
    return sorted(path for path in named if path.split("/")[0] in folders)


def lint(bundle: TaskBundle) -> list[str]:
    """What is wrong with a bundle on its face; empty when nothing is."""
    found = []
    words = len(bundle.instruction.split())
    if not WORDS[0] <= words <= WORDS[1]:
        found.append(f"instruction has {words} words, not {WORDS[0]} to {WORDS[1]}")
    outputs = set(bundle.expected_outputs)
    found += [f"instruction names the input {path}, which is absent" for path in missing_inputs(bundle)]
    found += [f"instruction does not name the output {p}" for p in sorted(outputs) if not _named(p, bundle.instruction)]
    found += [f"output {path} is there from the start" for path in sorted(leaks(bundle))]
    names = verifier_checks(bundle.reward["check.py"].decode("utf-8"))
    found += [f"verifier has two checks called {name}" for name, n in Counter(names).items() if n > 1]
    return found


def _named(path: str, instruction: str) -> bool:
    """Whether an instruction names a path, itself or by a pattern such as `site/*.html` or `replies/<ticket>.md`."""
    folder, _, name = path.rpartition("/")
    suffix = "." + name.rsplit(".", 1)[-1]
    pattern = rf"{re.escape(folder)}/(\*|<\w+>){re.escape(suffix)}"
    return path in instruction or re.search(pattern, instruction) is not None


def leaks(bundle: TaskBundle) -> set[str]:
    """Oracle files whose content stands in an input: whole, or, for new files, as all of its longer lines."""
    found = set()
    given = "\n".join(content.decode("utf-8", "replace") for content in bundle.inputs.values())
    lines_given = {line.strip() for line in given.splitlines()}
    for path, content in (bundle.oracle or {}).items():
        if content in bundle.inputs.values():
            found.add(path)
        if path in bundle.inputs:
            continue
        lines = [line.strip() for line in content.decode("utf-8", "replace").splitlines() if len(line.strip()) > 12]
        if lines and all(line in lines_given for line in lines):
            found.add(path)
    return found


def verifier_checks(source: str) -> list[str]:
    """Names of the functions that the family verifiers register as checks; empty for verifiers of others."""
    return [
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(d, ast.Name) and d.id == "check" for d in node.decorator_list)
    ]


def families_verifiable(bundle: TaskBundle) -> list[str]:
    """Own families only: known labels, six named checks or more, an oracle for every output, a plan with mistakes."""
    if bundle.family is None:
        return []
    found = []
    if bundle.scenario_subcategory not in SCENARIOS.get(bundle.scenario_category or "", ()):
        found.append(f"{bundle.scenario_category} / {bundle.scenario_subcategory} is not in the taxonomy")
    unknown = sorted(set(bundle.operations) - set(OFFLINE_OPERATIONS))
    if unknown or not bundle.operations or bundle.bench_category not in BENCH_CATEGORIES:
        found.append(f"labels outside the taxonomy: {unknown or bundle.bench_category}")
    if len(verifier_checks(bundle.reward["check.py"].decode("utf-8"))) < 6:
        found.append("fewer than six named checks")
    if set(bundle.oracle or {}) != set(bundle.expected_outputs):
        found.append("oracle and expected outputs differ")
    if bundle.plan is None or not bundle.plan.slips or {f.loss for f in bundle.plan.flaws} != {"small", "large"}:
        found.append("plan lacks slips, or flaws of both losses")
    return found
