"""This project on the cases, end to end: files into a lake, the projection, and the tables read back.

Beside the judgement everybody gets, ours is held to every finding, every fate, every class, what may be learned from,
and the raw bytes. Does not belong here: expectations (`cases`).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lake
from assets.logs import STAGE as LOGS
from assets.logs import ingest_paths
from assets.profile import Profile
from assets.rollouts import STAGE as ROLLOUTS
from assets.stage import Context
from assets.trajectories import STAGE
from assets.trajectories.checks import CHECKS
from benchmarks.conformance.case import Case, Outcome, call_event, text_event
from benchmarks.conformance.score import Judgement, judge
from lake import Lake
from lake.errors import StageError
from lake.ids import Json

Row = dict[str, Any]
_SUMMARY = ("<summary>\n", "\n</summary>")


@dataclass
class Ours:
    """What the tables hold of one case."""

    outcome: Outcome
    messages: list[list[str]] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    stated: list[tuple[int, str]] = field(default_factory=list)
    ledger: dict[str, int] = field(default_factory=dict)
    raw: dict[str, bytes] = field(default_factory=dict)
    """Each file's bytes, put together from its raw records."""


def run(cases: Iterable[Case], root: Path) -> dict[str, Judgement]:
    """Take in all files at once, build the tables, and judge each case from them.

    Args:
        cases: the cases.
        root: an empty folder for files and lake.

    Returns:
        Judgements by case name; for ours `silent` is as wrong as `wrong`.
    """
    cases = list(cases)
    for case in cases:
        for name, data in case.expected.files.items():
            path = root / "files" / case.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    opened = lake.open(root / "lake")
    ingest_paths(Context(opened, Profile()), [root / "files"])
    for stage in (ROLLOUTS, LOGS, STAGE):
        opened.build(stage.projection)
    for check in CHECKS:
        found = check.run(opened)
        if not found.passed:
            raise StageError(f"check {check.name} failed on the conformance files: {found.detail}")
    tables = _Tables(opened)
    return {case.name: judge_ours(case, tables.of(case, root / "files" / case.name)) for case in cases}


def judge_ours(case: Case, ours: Ours) -> Judgement:
    """The common judgement, then everything else that is expected of ours."""
    expected = case.expected
    common = judge(case, ours.outcome, own=True)
    if common.score != "right":
        return common
    wanted: dict[str, object] = {
        "stated": sorted(expected.stated),
        "ledger": dict(expected.ledger),
        "classes": list(expected.classes),
        "messages": [list(view) for view in expected.messages or expected.views],
        "raw": {name: data for name, data in expected.files.items() if not name.endswith(".sqlite")},
    }
    for name, value in wanted.items():
        if getattr(ours, name) != value:
            found = "other bytes" if name == "raw" else str(getattr(ours, name))
            return Judgement("wrong", f"{name}: {found} for {'the file' if name == 'raw' else value}"[:600])
    return common


class _Tables:
    """The tables of the lake, by source."""

    def __init__(self, opened: Lake) -> None:
        self._paths: dict[str, list[str]] = defaultdict(list)
        self._open_tails = {source["source_id"] for source in opened.rows("sources") if source["open_tail"]}
        for source in opened.rows("sources"):
            for path in source["seen_paths"]:
                self._paths[path].append(source["source_id"])
        self._raw = _by(opened.rows("raw_records"), "source_id")
        self._blob = opened.blob
        self._trajectories = _by(opened.rows("trajectories"), "source_id")
        self._steps = _by(opened.rows("steps"), "trajectory_id")
        self._calls = _by(opened.rows("tool_calls"), "trajectory_id")
        self._findings = _by(opened.rows("diagnostics"), "source_id")
        self._ledger = _by(opened.rows("ledger"), "source_id")

    def of(self, case: Case, folder: Path) -> Ours:
        """What became of a case's files; findings and fates of its first one."""
        sources = {name: self._sources(folder / name) for name in case.expected.files}
        first = next(iter(sources.values()))
        found = [row for ids in sources.values() for source in ids for row in self._trajectories[source]]
        order = {source: number for number, ids in enumerate(sources.values()) for source in ids}
        found.sort(key=lambda row: (order[row["source_id"]], row["branch"]))
        stated = [(row["line"], row["rule"]) for source in first for row in self._findings[source]]
        answers = [step for row in found for step in self._of(row) if _counts(step)]
        outcome = Outcome(
            views=[_steps_view(self._of(row), self._calls[row["trajectory_id"]]) for row in found],
            stated=[(line, rule) for line, rule in stated],
            tokens=[
                None if s["input_tokens"] is None else (s["input_tokens"], s["output_tokens"]) for s in answers
            ],
            models=[str(step["model"]) for step in answers],
            failed=[
                bool(call["is_error"])
                for row in found
                for call in sorted(self._calls[row["trajectory_id"]], key=lambda c: (c["step"], c["call_index"]))
                if call["result_step"] is not None
            ],
        )  # fmt: skip
        fates = Counter[str]()
        for source in first:
            for row in self._ledger[source]:
                fates[f"{row['disposition']}:{row['rule']}"] += row["records"]
        return Ours(
            outcome,
            messages=[_messages_view(json.loads(row["messages"])) for row in found],
            classes=[row["class"] for row in found],
            stated=sorted(stated),
            ledger=dict(fates),
            raw={name: self._bytes(ids) for name, ids in sources.items() if not name.endswith(".sqlite")},
        )

    def _sources(self, path: Path) -> list[str]:
        return sorted(source for seen, ids in self._paths.items() if seen.split("#")[0] == str(path) for source in ids)

    def _of(self, trajectory: Row) -> list[Row]:
        return sorted(self._steps[trajectory["trajectory_id"]], key=lambda step: step["step"])

    def _bytes(self, sources: list[str]) -> bytes:
        """A file from its records: each at its byte offset, line ends between them."""
        records = sorted((row for source in sources for row in self._raw[source]), key=lambda row: row["position"])
        data = bytearray()
        for row in records:
            data += b"\n" * (row["position"] - len(data))
            data += row["raw"] if row["raw"] is not None else self._blob(row["raw_blob"])
        return bytes(data) + b"\n" * (bool(records) and self._open_tails.isdisjoint(sources))


def _by(rows: Iterable[Row], column: str) -> defaultdict[str, list[Row]]:
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[column]].append(row)
    return found


def _counts(step: Row) -> bool:
    """Whether an assistant step is an answer of its own, with its own tokens."""
    return step["role"] == "assistant" and not step["copied_context"]


def _steps_view(steps: list[Row], calls: list[Row]) -> list[str]:
    events: list[str] = []
    by_step = _by(({**call, "at": str(call["step"])} for call in calls), "at")
    results: dict[int, int] = {}
    number = 0
    for step in steps:
        if step["role"] == "user":
            events.append(_user_event(step["text"]))
        elif step["role"] == "tool":
            events.append(text_event(f"result {results[step['step']]}", step["text"]))
        else:
            if step["text"]:
                events.append(text_event("say", step["text"]))
            for call in sorted(by_step[str(step["step"])], key=lambda call: call["call_index"]):
                events.append(call_event(number, call["tool"], call["arguments"]))
                if call["result_step"] is not None:
                    results[call["result_step"]] = number
                number += 1
    return events


def _messages_view(messages: list[Mapping[str, Json]]) -> list[str]:
    events: list[str] = []
    numbers: dict[str, int] = {}
    for message in messages:
        if message["role"] == "user":
            events.append(_user_event(message["content"]))
        elif message["role"] == "tool":
            events.append(text_event(f"result {numbers[message['tool_call_id']]}", message["content"]))
        elif message["role"] == "assistant":
            mark = "context " if message.get("weight") == 0 else ""
            if message["content"]:
                events.append(mark + text_event("say", message["content"]))
            for call in message.get("tool_calls", ()):
                numbers[call["id"]] = len(numbers)
                function = call["function"]
                events.append(mark + call_event(numbers[call["id"]], function["name"], function["arguments"]))
    return events


def _user_event(text: str) -> str:
    if _SUMMARY[0] in text and text.endswith(_SUMMARY[1]):
        return text_event("summary", text.split(_SUMMARY[0], 1)[1].removesuffix(_SUMMARY[1]))
    return text_event("user", text)
