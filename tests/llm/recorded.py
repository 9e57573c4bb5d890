"""A recorded model: plausible answers to every question of both routes, faults included, by what it is asked.

The same request gets the same answer, so a run that is killed and goes on sees no other world. Belongs here: which
answer for which question. The tasks themselves are below `recorded/`. Does not belong here: the protocol (`server.py`).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.llm.server import Request, Say, as_said

FOLDER: Final = Path(__file__).parent / "recorded"

BY_CATEGORY: Final = {
    "Office and Daily Tasks": "tool_loans",
    "Systems and Infrastructure": "tool_loans",  # a second time: not novel
    "Analysis and Decision Support": "shift_hours",  # its verifier is right in the third round
    "Planning and Knowledge Organization": "reading_list",  # its draft, its inputs and its rubric need a second look
    "Software Development": "seed_swap",  # an input gives the answer away
    "Information Retrieval and Collection": "error_digest",  # its verifier never gets right
    "Content and External Communication": "refuses",
    "Automation and Workflows": "babbles",
    "Messaging and Collaboration": "rejects",
}
"""What the model does with a persona candidate of a category. A skill candidate always gets `error_digest`."""

PRELUDE: Final = """import csv, io, json, pathlib, sys


def text(path):
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def table(path):
    try:
        return [row for row in csv.reader(io.StringIO(text(path), newline=""), strict=True) if row]
    except csv.Error:
        return []


def data(path):
    try:
        return json.loads(text(path))
    except (ValueError, RecursionError):
        return None


def same(value, expected):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value - expected) < 1e-9


"""
FLOATS: Final = """

def grade(transcript, workspace_path):
    return {name: float(bool(value)) for name, value in checks(pathlib.Path(workspace_path)).items()}


if __name__ == "__main__":
    print(json.dumps(grade([], sys.argv[1] if len(sys.argv) > 1 else ".")))
"""
BOOLEANS: Final = """

if __name__ == "__main__":
    passed = {name: bool(value) for name, value in checks(pathlib.Path(sys.argv[1])).items()}
    print(json.dumps({"reward": sum(passed.values()) / len(passed), **passed}))
"""


@cache
def task(name: str) -> dict[str, Any]:
    """A recorded task: draft, files, programs."""
    folder = FOLDER / name
    inputs = folder / "inputs"
    files = [
        {"path": path.relative_to(inputs).as_posix(), "content": path.read_text("utf-8")}
        for path in sorted(inputs.rglob("*"))
        if path.is_file()
    ]
    programs = {stem: (folder / f"{stem}.py.txt") for stem in ("solve", "check")}
    texts = {stem: path.read_text("utf-8") if path.exists() else "" for stem, path in programs.items()}
    return {"draft": json.loads((folder / "draft.json").read_text("utf-8")), "files": files, **texts}


def respond(request: Request, number: int = 0) -> Say:
    """The answer to a request."""
    system, user = request["messages"][0]["content"], request["messages"][1]["content"]
    wanted = request["response_format"]["json_schema"]["name"]
    if wanted == "TaskDraft":
        return _draft(request, user)
    if wanted == "RubricReview":
        return as_said({"covered_by_code": ["right_total"]})
    name = next(item.name for item in sorted(FOLDER.iterdir()) if task(item.name)["draft"]["instruction"] in user)
    return as_said(_ANSWERS[wanted](name, system, user))


def _draft(request: Request, user: str) -> Say:
    if "The skill the task must be about" in user:
        return Say("<think>A log, perhaps.</think>\n```json\n" + json.dumps(task("error_digest")["draft"]) + "\n```")
    category = user.split("Scenario: ")[1].split(" / ")[0]
    does = BY_CATEGORY[category]
    if does == "rejects":
        return Say(status=400, error="the prompt was flagged")
    if does == "refuses":
        return Say(refusal="I would rather not.")
    if does == "babbles":
        return Say("Certainly! Here is a great task: {", finish="length")
    draft = task(does)["draft"]
    if does == "shift_hours" and len(request["messages"]) == 2:
        return Say(json.dumps(draft)[:400], finish="length")  # cut; whole in the repair round
    if does == "reading_list" and "What was wrong" not in user:
        return as_said({**draft, "instruction": draft["instruction"].replace("output/plan.json", "the plan file")})
    return as_said(draft)


def _inputs(name: str, system: str, user: str) -> Any:
    files = task(name)["files"]
    if name == "reading_list" and "What was wrong" not in user:
        return {"files": [{"path": "input/sources.jsonl", "content": files[0]["content"][:150]}]}
    return {"files": files}


def _review(name: str, system: str, user: str) -> Any:
    leak = "The right totals.json is" in user
    return {
        "is_clear": True, "is_consistent": True, "is_realistic": True, "is_feasible": True,
        "has_factual_error": False, "has_answer_leak": leak,
        "reasons": ["input/notes.md states totals.json"] if leak else [],
    }  # fmt: skip


def _script(name: str, system: str, user: str) -> Any:
    if system.startswith("You solve"):
        return {"code": task(name)["solve"]}
    body = task(name)["check"]
    floats = "def grade" in system or "`grade(" in system
    if name == "shift_hours" and "Your verifier so far" not in user:
        body = body.replace(
            "    return {\n", '    return {\n        "exists": (root / "output/payroll.json").exists(),\n'
        )
    elif name == "shift_hours" and '"exists"' in user:
        body = body.replace("    return {\n", '    return {\n        "sorted": list(people) == sorted(people) != [],\n')
    elif name == "error_digest" and floats:
        body = "def checks(root):\n    return {'there': (root / 'output/incident.json').is_file()}\n"
    return {"code": PRELUDE + body + (FLOATS if floats else BOOLEANS)}


def _coverage(name: str, system: str, user: str) -> Any:
    return {"missing_requirements": [], "too_strict": [], "guidance": ""}


def _levels(about: str) -> dict[str, str]:
    words = {"0": "no sign of", "0.25": "little", "0.5": "some", "0.75": "mostly", "1": "throughout"}
    return {score: f"{word} {about}" for score, word in words.items()}


def _rubric(name: str, system: str, user: str) -> Any:
    if name != "reading_list":
        return {"skip": True, "reason": "the outputs are data", "rules": []}
    path = "output/handout.md"
    rules = [
        {"name": "welcoming", "file_path": path, "weight": 2.0, "scores": _levels("a welcome in plain language")},
        {"name": "useful", "file_path": path, "weight": 1.0, "scores": _levels("advice on how to use the plan")},
        {"name": "right_total", "file_path": path, "weight": 1.0, "scores": _levels("a right total")},
        {"name": "elsewhere", "file_path": "output/other.md", "weight": 1.0, "scores": _levels("anything")},
    ]
    return {"skip": False, "reason": "", "rules": rules}


_ANSWERS: Final = {
    "InputFiles": _inputs, "TaskReview": _review, "Script": _script, "CoverageReview": _coverage,
    "RubricDraft": _rubric,
}  # fmt: skip
