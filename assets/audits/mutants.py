"""Mutants: the oracle's outputs with one plausible mistake each, by output file and kind.

Belongs here: which mistakes exist, where they apply and which of them must be noticed. Deterministic: the choice inside
a file follows from (task id, kind, path). Does not belong here: the edits of each format (`edits.py`), running a
verifier, judging a task.

Not every mistake matters to every file. `reorder` counts only where the instruction says an order in the lines about
that file; elsewhere it is run and reported, not counted (`counted` is false). A mistake that a file gives no room for
(no number in it, all rows equal) is skipped and named.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from assets.audits.edits import EDITS
from assets.tasks import TaskBundle
from assets.tasks.formats import format_of
from lake.ids import digest

KINDS: Final = (
    "drop_row", "change_number", "reorder", "rename_field", "truncate", "wrong_path", "stale_copy",
)  # fmt: skip
"""All kinds, in the order they are made."""

_ORDER: Final = re.compile(
    r"\b(sort(ed|s)?|order(ed)?|ascending|descending|alphabetical(ly)?|chronological(ly)?|rank(ed|ing)?|top \w+)\b"
    r"|\b(high|low|new|old|lat|earli|larg|small|bigg|long|short|worst|best)(e?st)?\b[^.\n]{0,40}\bfirst\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Mutant:
    """The outputs of the oracle with one mistake."""

    kind: str
    path: str
    outputs: Mapping[str, bytes]
    """Oracle files after the mistake; inputs that the mistake restores are simply not in it."""
    counted: bool
    """Whether the verifier must notice it."""

    @property
    def probe(self) -> str:
        """`mutant:` where it counts, else `variation:`."""
        return f"{'mutant' if self.counted else 'variation'}:{self.kind}:{self.path}"


@dataclass(frozen=True)
class Skipped:
    """A mistake that a file gives no room for."""

    kind: str
    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.path}: {self.reason}"


def mutants(bundle: TaskBundle) -> tuple[list[Mutant], list[Skipped]]:
    """Every mutant of a task that has an oracle, and what was skipped."""
    made: list[Mutant] = []
    skipped: list[Skipped] = []
    oracle = dict(bundle.oracle or {})
    for path in targets(bundle):
        for kind in KINDS:
            rng = random.Random(digest(bundle.task_id, kind, path, length=16))
            outputs = _mutate(kind, path, oracle, bundle.inputs, rng)
            if isinstance(outputs, str):
                skipped.append(Skipped(kind, path, outputs))
            elif {**bundle.inputs, **outputs} == {**bundle.inputs, **oracle}:
                skipped.append(Skipped(kind, path, "the workspace is the same after it"))
            else:
                made.append(Mutant(kind, path, outputs, kind != "reorder" or states_order(bundle, path)))
    return made, skipped


def targets(bundle: TaskBundle) -> list[str]:
    """The oracle's files that the instruction asks for: expected outputs, or files below an expected folder."""
    asked = [path.rstrip("/") for path in bundle.expected_outputs]
    oracle = sorted(bundle.oracle or {})
    found = [path for path in oracle if any(path == a or path.startswith(f"{a}/") for a in asked)]
    return found or oracle


def states_order(bundle: TaskBundle, path: str) -> bool:
    """Whether the lines about a file state an order: the line that names it, on to where another output is named."""
    text, name = bundle.instruction, PurePosixPath(path).name
    start = text.find(path) if path in text else text.find(name)
    if start < 0:
        return _ORDER.search(text) is not None
    line = text.rfind("\n", 0, start) + 1
    others = [
        at
        for other in bundle.expected_outputs
        if other != path and (at := text.find(PurePosixPath(other).name, start + len(name))) >= 0
    ]
    return _ORDER.search(text[line : min(others, default=len(text))]) is not None


def _mutate(
    kind: str, path: str, oracle: Mapping[str, bytes], inputs: Mapping[str, bytes], rng: random.Random
) -> dict[str, bytes] | str:
    """The outputs after a mistake, or why there are none."""
    rest = {other: data for other, data in oracle.items() if other != path}
    data = oracle[path]
    if kind == "truncate":
        return {**rest, path: data[: len(data) // 2]} if len(data) > 1 else "the file is too short"
    if kind == "wrong_path":
        place = PurePosixPath(path)
        return {**rest, str(place.with_name(f"{place.stem}_1{place.suffix}")): data}
    if kind == "stale_copy":
        return _stale(path, rest, inputs)
    edit = EDITS.get((kind, format_of(path, data)))
    if edit is None:
        return f"no such mistake in {format_of(path, data)} files"
    try:
        changed = edit(data.decode("utf-8"), rng)
    except (ValueError, RecursionError) as error:
        return f"the reference file cannot be read: {error}"
    return {**rest, path: changed.encode()} if changed is not None else "nothing in the file to make it with"


def _stale(path: str, rest: dict[str, bytes], inputs: Mapping[str, bytes]) -> dict[str, bytes] | str:
    """The input's own version of the file, or the largest input of the same suffix handed in as the output."""
    if path in inputs:
        return {**rest, path: inputs[path]}
    suffix = PurePosixPath(path).suffix
    alike = [(len(data), name) for name, data in inputs.items() if suffix and PurePosixPath(name).suffix == suffix]
    if not alike:
        return "no input of its kind"
    return {**rest, path: inputs[max(alike)[1]]}
