"""What the ClawGym forms share: spellings of the fields, the rubric, the bundle, the wrapper `reward.sh`.

Belongs here: readings of an already parsed record. Does not belong here: how a form is laid out on disk
(`clawgym_folder.py`, `clawgym_rows.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from assets.grading import entry_of
from assets.tasks.bundle import TaskBundle
from assets.tasks.exchange.contract import RefusedError, Source, safe_path, slug
from assets.tasks.exchange.facts import defect, outputs_named, protocol_of
from assets.tasks.lint import missing_inputs
from assets.tasks.taxonomy import BENCH_CATEGORIES, EXTRA_SCENARIOS, SCENARIOS

MOUNT: Final = "/root/.openclaw/workspace"
TEXTS: Final = ("user_query", "prompt", "question")
RULES: Final = ("rules", "rule")
LEVELS: Final = ("0", "0.25", "0.5", "0.75", "1")
OWN_WRAPPER: Final = f"""#!/usr/bin/env bash
# Prints the score of the workspace, a float from 0 to 1, on the last line.
set -euo pipefail
python3 - {MOUNT}/reward/check.py {MOUNT} <<'PYTHON'
import json
import runpy
import subprocess
import sys

check, workspace = sys.argv[1:]
grade = runpy.run_path(check).get("grade")
if callable(grade):
    values = list(grade([], workspace).values())
    print(sum(map(float, values)) / len(values))
else:
    said = subprocess.run([sys.executable, check, workspace], check=True, capture_output=True, text=True).stdout
    print(float(json.loads(said.strip().splitlines()[-1])["reward"]))
PYTHON
""".encode()
"""Written where a task of another origin has none; an own `reward` is the score, not one value among its booleans."""


def text_of(record: Mapping[str, Any]) -> str:
    """The instruction, whichever of its names it has.

    Raises:
        RefusedError: there is none.
    """
    for name in TEXTS:
        if isinstance(record.get(name), str) and record[name].strip():
            return str(record[name])
    raise RefusedError(f"there is no task text ({', '.join(TEXTS)})")


def identity_of(record: Mapping[str, Any]) -> str | None:
    """The published id: `task_id`, the `id:` line of `origin_template`, `record_index`; null where there is none."""
    if record.get("task_id") not in (None, ""):
        return str(record["task_id"])
    for line in str(record.get("origin_template") or "").splitlines():
        if line.strip().startswith("id:"):
            return line.split(":", 1)[1].strip().strip("'\"") or None
    return None if record.get("record_index") is None else f"record_{record['record_index']}"


def rubric_of(record: Mapping[str, Any]) -> tuple[tuple[Mapping[str, Any], ...] | None, list[Mapping[str, str]]]:
    """The rubric (null where there is none) and what is wrong with it.

    Raises:
        RefusedError: a rule names a file outside the workspace.
    """
    metadata = record.get("metadata")
    places = [record, metadata if isinstance(metadata, Mapping) else {}]
    found = next((place[name] for place in places for name in RULES if place.get(name)), None)
    if found is None:
        return None, []
    if not isinstance(found, list):
        return None, [defect("rubric_unreadable", f"the rubric is a {type(found).__name__}, not a list of rules")]
    rules, defects = [], []
    for number, rule in enumerate(found):
        read = _rule(rule)
        if read is None:
            defects.append(defect("rubric_unreadable", f"rule {number} has no name with five score texts"))
            continue
        rules.append(read)
        if "rule" in rule and "scores" not in rule:
            defects.append(defect("rubric_old_form", f"rule {read['name']!r} says one text; its levels are ours"))
    return (tuple(rules) or None), defects


def _rule(rule: Any) -> Mapping[str, Any] | None:
    if not isinstance(rule, Mapping) or not isinstance(rule.get("name"), str):
        return None
    named = rule.get("file_path") or rule.get("target_file") or ""
    read: dict[str, Any] = {"name": rule["name"], "file_path": safe_path(named) if named else ""}
    scores = rule.get("scores")
    if scores is None and isinstance(rule.get("rule"), str):
        words = ("not at all", "hardly", "in part", "mostly", "fully")
        scores = {level: f"Met {word}: {rule['rule']}" for level, word in zip(LEVELS, words, strict=True)}
    try:
        read["scores"] = {f"{float(level):g}": str(text) for level, text in dict(scores or {}).items()}
    except (TypeError, ValueError):
        return None
    if set(read["scores"]) != set(LEVELS):
        return None
    if isinstance(rule.get("weight"), (int, float)) and not isinstance(rule["weight"], bool):
        read["weight"] = rule["weight"]
    return read


def categories_of(record: Mapping[str, Any]) -> dict[str, str]:
    """Category fields as far as the taxonomy has them: scenario, subcategory, bench category."""
    known = {**SCENARIOS, **EXTRA_SCENARIOS}
    category, above = record.get("category"), record.get("macro_category")
    if category in BENCH_CATEGORIES:
        return {"bench_category": str(category)}
    owner = next((name for name, below in known.items() if category in below), None)
    if owner is not None:
        return {"scenario_category": owner, "scenario_subcategory": str(category)}
    if category in known or above in known:
        return {"scenario_category": str(category if category in known else above)}
    return {}


def bundle_of(
    record: Mapping[str, Any],
    *,
    name: str,
    form: str,
    source: Source,
    inputs: Mapping[str, bytes],
    reward: Mapping[str, bytes],
    extra: Mapping[str, Any],
) -> TaskBundle:
    """The bundle of a record, with what is known to be wrong with it in `extra["defects"]`.

    Raises:
        RefusedError: there is no verifier or no text, or a path is unsafe.
    """
    instruction = text_of(record)
    entry = entry_of(reward, "grade_floats")
    if entry is None:
        raise RefusedError(f"there is no verifier: reward/ holds {', '.join(sorted(reward)) or 'nothing'}")
    protocol = protocol_of(reward[entry])
    rubric, defects = rubric_of(record)
    metadata = record.get("metadata") if isinstance(record.get("metadata"), Mapping) else {}
    difficulty = (metadata or {}).get("difficulty")
    skills = [(metadata or {}).get("primary_skill_id"), *((metadata or {}).get("supporting_skill_ids") or [])]
    actions = record.get("action") if isinstance(record.get("action"), list) else []
    bundle = TaskBundle(
        task_id=f"{source.collection}-{slug(name)}",
        instruction=instruction,
        inputs=inputs,
        reward=reward,
        verifier_protocol=protocol,
        origin=f"import:{form}",
        route="import",
        licence=source.licence,
        rubric=rubric,
        operations=tuple(str(action) for action in actions or ()),
        difficulty=difficulty if isinstance(difficulty, int) and 1 <= difficulty <= 5 else None,
        skill_ids=tuple(str(skill) for skill in skills if skill),
        expected_outputs=outputs_named(instruction, inputs),
    )
    bundle = replace(bundle, **categories_of(record))  # type: ignore[arg-type]
    return _with_defects(bundle, {**extra, "format": form, "published_id": name}, defects)


def _with_defects(bundle: TaskBundle, extra: dict[str, Any], defects: Sequence[Mapping[str, str]]) -> TaskBundle:
    found = list(defects)
    found += [
        defect("missing_input", f"the instruction names {path}, which is absent") for path in missing_inputs(bundle)
    ]
    if bundle.verifier_protocol == "reward_booleans" and wrapper_averages(bundle.reward.get("reward.sh", b"")):
        found.append(defect("wrapper_average", "reward.sh averages `reward` with the booleans it was computed from"))
    return replace(bundle, extra={**extra, "defects": found})


def renamed(reward: Mapping[str, bytes], name: str) -> dict[str, bytes]:
    """The package with its verifier under another of its names.

    Raises:
        RefusedError: it is no Python verifier.
    """
    entry = entry_of(reward, "grade_floats")
    if entry is None:
        raise RefusedError(
            f"its verifier is no check.py or test.py, which this format needs: {', '.join(sorted(reward))}"
        )
    return {name if path == entry else path: data for path, data in reward.items()}


def wrapper_averages(script: bytes) -> bool:
    """Whether a reward.sh takes the mean of all values of the verifier's object; by its text."""
    return re.search(rb"sum\s*\([^\n]*values\(\)[^\n]*/\s*len", script) is not None
