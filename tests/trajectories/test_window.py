"""Trajectory events are a bounded window: what is gone of it is stated, and what is left is used."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assets.trajectories.trace import Trace, read_trace
from tests.trajectories.attempts import SAMPLES
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
