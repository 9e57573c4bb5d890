"""Trajectory events are a bounded window: what is gone of it is stated, and what is left is used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assets.logs import STAGE as LOGS
from assets.logs import ingest_paths
from assets.rollouts import STAGE as ROLLOUTS
from assets.trajectories import STAGE
from assets.trajectories.trace import Trace, read_trace
from tests.trajectories.attempts import SAMPLES, context
from tests.trajectories.sessions import rows_of

EVENTS = [json.loads(line) for line in (SAMPLES / "toolerr" / "main.trajectory.jsonl").read_bytes().splitlines()]


def read(events: list[dict[str, Any]]) -> Trace:
    trace = read_trace(rows_of([json.dumps(event).encode() for event in events]))
    assert sum(trace.findings.ledger().values()) == len(events)
    return trace


def missing(events: list[dict[str, Any]]) -> list[str]:
    found = read(events).findings.found.values()
    return [finding.detail for finding in found if finding.rule.name == "trajectory_events_missing"]


def test_a_whole_run_and_a_retry_of_it_miss_nothing() -> None:
    assert EVENTS[0]["seq"] == 1 and missing(EVENTS) == [] and missing(EVENTS[:6] + EVENTS) == []


@pytest.mark.parametrize(
    ("events", "detail"),
    [
        (EVENTS[3:], "begins with event 4 of its run"),
        (EVENTS[:3] + EVENTS[6:], "event 7 behind event 3"),
        (EVENTS + [{**event, "runId": "other"} for event in EVENTS[2:]], "a run begins with event 3"),
        ([*EVENTS, {**EVENTS[-1], "type": "trace.truncated"}], "OpenClaw states that it left events out"),
    ],
    ids=range(4),
)
def test_events_that_are_gone_are_stated(events: list[dict[str, Any]], detail: str) -> None:
    assert missing(events) == [detail]


def test_the_version_the_system_prompt_and_the_tools_are_read() -> None:
    trace = read(EVENTS)
    assert trace.harness is not None and trace.harness.startswith("openclaw 2026.")
    assert trace.system and trace.tools


@pytest.mark.parametrize("elsewhere", [False, True])
def test_events_join_the_transcript_of_their_own_state_folder(tmp_path: Path, elsewhere: bool) -> None:
    """Two folders with a session of one id: each has its own events; lone ones join the only transcript there is."""
    made = context(tmp_path)
    lines = (SAMPLES / "toolerr" / "main.transcript.jsonl").read_bytes()
    events = (SAMPLES / "toolerr" / "main.trajectory.jsonl").read_bytes()
    name = EVENTS[0]["sessionId"]
    for number, home in enumerate(("a", "b")):
        if elsewhere and number:
            continue
        place = tmp_path / home / "agents" / "main" / "sessions"
        beside = tmp_path / "kept apart" if elsewhere else place
        for folder in (place, beside):
            folder.mkdir(parents=True, exist_ok=True)
        day = b"2026-12-0%d" % (number + 2)
        system = json.dumps(EVENTS[2]["data"]["systemPrompt"]).encode()
        own = events.replace(system, b'"system of %s"' % home.encode())
        assert own != events
        (place / f"{name}.jsonl").write_bytes(lines.replace(b"2026-12-01", day))
        (beside / f"{name}.trajectory.jsonl").write_bytes(own.replace(b"2026-12-01", day))
    ingest_paths(made, [tmp_path / name for name in ("a", "b", "kept apart") if (tmp_path / name).exists()])
    for stage in (ROLLOUTS, LOGS, STAGE):
        made.lake.build(stage.projection)
    found = made.lake.sql(
        "select split_part(o.path, '/', -5), s.text from steps s join trajectories t using (trajectory_id)"
        " join sources o using (source_id) where s.role = 'system' order by 1"
    ).fetchall()
    assert found == ([("a", "system of a")] if elsewhere else [("a", "system of a"), ("b", "system of b")])
    assert all(check.run(made.lake).passed for check in STAGE.checks)
