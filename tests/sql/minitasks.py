"""Tasks, personas and skills of the synthetic lake.

Belongs here: everything that exists before an agent runs. Does not belong here: runs (`miniruns.py`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from lake.ids import Json, canonical, digest, event_id, sha256_hex

FAMILIES = (
    ("expense_report", "Analysis and Reasoning", "Analysis and Decision Support", "data analysis and calculation"),
    ("inbox_triage", "Productivity and Collaboration", "Messaging and Collaboration", "message and email handling"),
    ("log_cleanup", "Systems and Automation", "Automation and Workflows", "scheduled task execution"),
    ("release_notes", "Content and Domain Support", "Office and Daily Tasks", "document writing and editing"),
    ("trip_plan", "Planning and Knowledge", "Office and Daily Tasks", "schedule and task management"),
    ("fix_parser", "Software Development", "Software Development", "debugging and repair"),
)
CHECKS = ("summary_exists", "rows_complete", "total_exact", "sorted_by_date", "filter_applied", "note_names_source")
SPLITS = ("train", "train", "validation", "bench:demo")

VERIFIER = b'''"""Recomputes the expected totals from the inputs."""
import csv, json, pathlib, sys


def grade(transcript, workspace_path):
    root = pathlib.Path(workspace_path)
    rows = list(csv.DictReader((root / "input/records.csv").open()))
    total = round(sum(float(r["amount"]) for r in rows if r["status"] == "open"), 2)
    try:
        found = json.loads((root / "output/summary.json").read_text())
    except (OSError, ValueError):
        found = {}
    return {"summary_exists": float(bool(found)), "total_exact": float(found.get("total") == total)}


if __name__ == "__main__":
    print(json.dumps(grade([], sys.argv[1] if len(sys.argv) > 1 else ".")))
'''


@dataclass(frozen=True)
class Task:
    """One synthetic task."""

    number: int
    family: str
    category: str
    scenario: str
    subcategory: str
    seed: int
    accepted: bool
    split: str | None
    inputs: Mapping[str, bytes]
    package: Mapping[str, bytes]

    @property
    def protocol(self) -> str:
        return "reward_booleans" if self.family == "log_cleanup" else "grade_floats"

    def reward(self, passed: int) -> float:
        """The score of so many passed checks; this family's own reward is stricter than their mean."""
        share = passed / len(CHECKS)
        return share**2 if self.protocol == "reward_booleans" else share

    def wrapper(self, passed: int) -> float:
        """What reward.sh would print: the mean of all values, `reward` among its own booleans."""
        if self.protocol == "reward_booleans":
            return (self.reward(passed) + passed) / (len(CHECKS) + 1)
        return self.reward(passed)

    @property
    def task_id(self) -> str:
        return f"{self.family}-s{self.seed:04d}"

    @property
    def version(self) -> str:
        return digest(self.task_id, self.instruction, length=16)

    @property
    def instruction(self) -> str:
        return (
            f"Read input/records.csv and input/notes.md of the {self.family.replace('_', ' ')} (case {self.seed}). "
            "Keep the records whose status is open, write output/summary.json with `total` and `count`, and "
            "output/report.md with one line per record, oldest first.\n\n"
            "All file paths are relative to the workspace directory."
        )

    @property
    def verifier_version(self) -> str:
        return digest(self.family, "check.py", length=16)

    @property
    def workspace_id(self) -> str:
        return workspace_id(self.inputs)

    def row(self) -> dict[str, Json]:
        """Its row of `tasks`."""
        manifest = [
            {"path": path, "sha256": sha256_hex(data), "size": len(data), "format": path.rsplit(".", 1)[-1]}
            for path, data in sorted(self.inputs.items())
        ]
        reward = [
            {"path": path, "sha256": sha256_hex(data), "size": len(data)} for path, data in sorted(self.package.items())
        ]
        return {
            "task_id": self.task_id, "task_version": self.version, "instruction": self.instruction,
            "origin": f"family:{self.family}", "route": "skill" if self.number % 5 == 4 else "persona",
            "family": self.family, "seed": self.seed, "scenario_category": self.scenario,
            "scenario_subcategory": self.subcategory, "bench_category": self.category,
            "operations": ["file reading", "filtering", "report writing"], "difficulty": 1 + self.number % 5,
            "persona_id": persona_rows()[self.number % 6]["persona_id"],
            "skill_ids": ["spreadsheet-basics"] if self.number % 5 == 4 else [],
            "input_count": len(manifest), "input_bytes": sum(f["size"] for f in manifest),
            "input_formats": sorted({f["format"] for f in manifest}), "input_manifest": canonical(manifest),
            "reward_manifest": canonical(reward), "verifier_sha256": sha256_hex(VERIFIER),
            "verifier_protocol": self.protocol, "verifier_version": self.verifier_version,
            "rubric": None, "expected_outputs": ["output/report.md", "output/summary.json"],
            "oracle_manifest": canonical([{"path": "output/summary.json", "sha256": sha256_hex("{}"), "size": 2}]),
            "plan": None, "licence": "CC0-1.0",
            "event_id": event_id("task", f"{self.task_id}@{self.version}", 0),
        }  # fmt: skip

    def status_row(self) -> dict[str, Json]:
        """Its row of `task_status`."""
        return {
            "task_id": self.task_id, "task_version": self.version,
            "status": "accepted" if self.accepted else "rejected",
            "reasons": [] if self.accepted else ["placeholder"], "split": self.split,
            "event_id": event_id("decision", f"{self.task_id}@{self.version}", 0),
        }  # fmt: skip

    def audit_rows(self) -> list[dict[str, Json]]:
        """Its rows of `audits`: the seven standard probes and four mutants."""
        placeholder = 0.05 if self.accepted else 0.4
        probes: list[tuple[str, float, str, bool]] = [
            ("untouched", 0.0, "score = 0", True),
            ("empty", 0.0, "score = 0", True),
            ("zero_byte", 0.0, "score < 0.1", True),
            ("placeholder", placeholder, "score < 0.1", self.accepted),
            ("pasted_instruction", 0.0, "score < 0.1", True),
            ("oracle", 1.0, "score = 1", True),
            ("repeat", 1.0, "score = oracle", True),
        ]
        kinds = ("dropped_row", "changed_number", "reordered", "renamed_field")
        for index, kind in enumerate(kinds):
            killed = not (index == 2 and self.number % 6 == 3)
            score = 0.83 if killed else 1.0
            probes.append((f"mutant:{kind}:output/summary.json", score, "score < oracle", killed))
        return [
            {
                "task_id": self.task_id, "task_version": self.version, "probe": probe, "workspace_id": None,
                "verifier_version": self.verifier_version, "status": "scored", "score_code": score,
                "checks": canonical(dict.fromkeys(CHECKS, score)), "passed": passed, "bound": bound,
                "detail": None if passed else f"{probe} earned {score}", "duration_s": 0.08,
                "event_id": event_id("audit", f"{self.task_id}@{self.version}/{probe}", 0),
            }
            for probe, score, bound, passed in probes
        ]  # fmt: skip


def workspace_id(files: Mapping[str, bytes]) -> str:
    """Digest of a manifest."""
    return digest(sorted((path, sha256_hex(data)) for path, data in files.items()))


def file_rows(files: Mapping[str, bytes], task: Task) -> list[dict[str, Json]]:
    """Rows of `workspaces` of the initial state of a task."""
    return [
        {
            "workspace_id": workspace_id(files), "path": path, "task_id": task.task_id,
            "task_version": task.version, "kind": "file", "sha256": sha256_hex(data), "size": len(data), "mode": 0o644,
            "format": path.rsplit(".", 1)[-1], "parses": None if path.endswith(".md") else True, "note": None,
            "event_id": event_id("workspace", f"{task.task_id}@{task.version}", 0),
        }
        for path, data in sorted(files.items())
    ]  # fmt: skip


def make_tasks(count: int, seed: int) -> list[Task]:
    """`count` tasks; every seventh is rejected by its audit."""
    tasks = []
    for number in range(count):
        family, category, scenario, subcategory = FAMILIES[number % len(FAMILIES)]
        at = number // len(FAMILIES)
        accepted = number % 7 != 6
        split = SPLITS[(number + at) % len(SPLITS)] if accepted else None
        inputs = _inputs(family, at, random.Random(f"{seed}/{number}"))
        package = {"reward/check.py": VERIFIER}
        tasks.append(Task(number, family, category, scenario, subcategory, at, accepted, split, inputs, package))
    return tasks


def _inputs(family: str, seed: int, rng: random.Random) -> dict[str, bytes]:
    lines = ["id,date,status,amount"]
    for row in range(8):
        status = "open" if rng.random() < 0.6 else "closed"
        lines.append(f"{family[:3].upper()}-{seed:04d}-{row},2026-11-{row + 1:02d},{status},{rng.randint(10, 900)}.50")
    notes = f"# {family} notes\n\nAmounts are in euro. Closed records were settled in October.\n"
    return {"input/records.csv": ("\n".join(lines) + "\n").encode(), "input/notes.md": notes.encode()}


def persona_rows() -> list[dict[str, Json]]:
    """Six personas."""
    people = ("Ada|bookkeeper|finance", "Ben|team lead|operations", "Cora|site engineer|construction",
              "Dev|editor|publishing", "Eva|travel agent|tourism", "Finn|developer|software")  # fmt: skip
    rows = []
    for person in people:
        name, occupation, domain = person.split("|")
        text = f"{name} is a {occupation} in {domain} who wants exact figures and short reports."
        identity = digest("builtin", text)
        rows.append(
            {
                "persona_id": identity, "text": text, "name": name, "occupation": occupation, "domain": domain,
                "origin": "builtin", "licence": "CC0-1.0", "event_id": event_id("persona", identity, 0),
            }
        )  # fmt: skip
    return rows


def skill_rows() -> list[dict[str, Json]]:
    """Four skills, one of which needs an account."""
    rows = []
    for number, skill in enumerate(("spreadsheet-basics", "markdown-report", "log-review", "mail-account")):
        auth = skill == "mail-account"
        rows.append(
            {
                "skill_id": skill, "name": skill, "description": f"How to do {skill}.", "source": "openclaw-bundled",
                "text_sha256": sha256_hex(skill), "truncated": False,
                "status": "not_synthesizable" if auth else "annotated", "synthesizable": not auth,
                "language": "english", "summary": f"Teaches {skill}.", "auth_required": auth,
                "auth_details": ["account"] if auth else [], "input_format": "text", "output_format": "text",
                "has_risk": False, "risk_reasons": [], "required_env": [], "text_only_compatible": True,
                "non_text_reasons": [], "core_content": "…", "annotator": "rules:1", "flags": [],
                "licence": "MIT", "event_id": event_id("skill", f"{skill}@{number}", 0),
            }
        )  # fmt: skip
    return rows
