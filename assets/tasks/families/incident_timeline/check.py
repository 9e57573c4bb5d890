"""Verifier of `incident_timeline`: reads the three logs again and rebuilds timeline, windows and summary."""

from __future__ import annotations

import configparser
import re
from collections import Counter
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    check,
    is_int,
    labelled,
    md_table,
    number,
    object_keys,
    original,
    output,
    output_csv,
    output_json,
    rounded,
    section,
    share,
)

FIRST = "2026-03-02T14:00:00Z"
LAST = "2026-03-02T15:00:00Z"
LINES = {
    "gateway": re.compile(r'(?P<t>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (?P<level>[A-Z]+) .*msg="(?P<msg>[^"]*)"$'),
    "worker": re.compile(
        r'\[(?P<t>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4})\] (?P<level>[A-Z]+) .*msg="(?P<msg>[^"]*)"$'
    ),
    "db": re.compile(r'(?P<t>\d{9,11}\.\d+) (?P<level>[A-Z]+) .*msg="(?P<msg>[^"]*)"$'),
}
REQUEST = re.compile(r"status=(\d{3})\b")
COLUMNS = ["time_utc", "service", "level", "message"]


def instant(service: str, text: str) -> datetime:
    if service == "gateway":
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    if service == "worker":
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S %z").astimezone(timezone.utc)
    return datetime.fromtimestamp(int(text.split(".")[0]), timezone.utc)


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def entries(service: str) -> list[tuple[datetime, str, str, str]]:
    found, seen = [], set()
    for line in original(f"logs/{service}.log").split("\n"):
        match = LINES[service].match(line)
        if match and line not in seen:
            seen.add(line)
            found.append((instant(service, match["t"]), match["level"], match["msg"], line))
    return found


def timeline() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        (stamp(moment), service, level, message)
        for service in LINES
        for moment, level, message, _ in entries(service)
        if level in ("WARN", "ERROR") and FIRST <= stamp(moment) <= LAST
    ]
    return sorted(rows, key=lambda row: (row[0], row[1], row[3]))


def windows() -> list[dict[str, Any]]:
    config = configparser.ConfigParser()
    config.read_string(original("config/alerts.ini"))
    minutes = config.getint("window", "minutes")
    total: Counter[datetime] = Counter()
    failed: Counter[datetime] = Counter()
    for moment, _, _, line in entries("gateway"):
        status = REQUEST.search(line)
        if status:
            start = moment.replace(minute=moment.minute - moment.minute % minutes, second=0, microsecond=0)
            total[start] += 1
            failed[start] += int(status[1]) >= 500
    result = []
    for start in sorted(total):
        percent = Decimal(100 * failed[start]) / total[start]
        breach = percent >= Decimal(config["threshold"]["error_percent"]) and total[start] >= config.getint(
            "threshold", "min_requests"
        )
        result.append(
            {"start": stamp(start), "end": stamp(start + timedelta(minutes=minutes)), "requests": total[start],
             "errors": failed[start], "percent": percent, "breach": breach}
        )  # fmt: skip
    return result


TIMELINE = timeline()
WINDOWS = windows()
BREACHES = [window for window in WINDOWS if window["breach"]]


def timeline_rows(workspace: Path) -> list[tuple[str, ...]]:
    return [tuple(row.values()) for row in output_csv(workspace, "output/timeline.csv", COLUMNS)]


def window_objects(workspace: Path) -> list[dict[str, Any]]:
    found = output_json(workspace, "output/windows.json")
    return [object_keys(item, ["start", "requests", "errors", "error_percent", "breach"]) for item in found]


@check
def timeline_entries(workspace: Path) -> float:
    found, wanted = Counter(timeline_rows(workspace)), Counter(TIMELINE)
    return share((found & wanted).total(), max(found.total(), wanted.total()))


@check
def timeline_exact(workspace: Path) -> float:
    return timeline_rows(workspace) == TIMELINE


@check
def window_counts(workspace: Path) -> float:
    found = {item["start"]: item for item in window_objects(workspace)}
    right = sum(
        w["start"] in found
        and is_int(found[w["start"]]["requests"], w["requests"])
        and is_int(found[w["start"]]["errors"], w["errors"])
        for w in WINDOWS
    )
    return share(right, max(len(WINDOWS), len(found)))


@check
def window_percentages(workspace: Path) -> float:
    found = window_objects(workspace)
    return len(found) == len(WINDOWS) and all(
        not isinstance(f["error_percent"], str) and rounded(f["error_percent"], w["percent"], 2)
        for f, w in zip(found, WINDOWS, strict=True)
    )


@check
def window_order(workspace: Path) -> float:
    return [item["start"] for item in window_objects(workspace)] == [w["start"] for w in WINDOWS]


@check
def breaches_marked(workspace: Path) -> float:
    found = window_objects(workspace)
    return [(f["start"], f["breach"]) for f in found] == [(w["start"], w["breach"]) for w in WINDOWS]


@check
def summary_period(workspace: Path) -> float:
    text = section(output(workspace, "output/incident.md"), "Incident summary")
    return [labelled(text, "Start"), labelled(text, "End")] == [BREACHES[0]["start"], BREACHES[-1]["end"]]


@check
def summary_peak(workspace: Path) -> float:
    text = section(output(workspace, "output/incident.md"), "Incident summary")
    peak: Decimal = max(window["percent"] for window in BREACHES)
    return rounded(number(labelled(text, "Peak error rate").rstrip("% ")), peak, 2)


@check
def summary_first_error(workspace: Path) -> float:
    text = section(output(workspace, "output/incident.md"), "Incident summary")
    first = next(row for row in TIMELINE if row[2] == "ERROR")
    return labelled(text, "First error").split() == [first[0], first[1]]


@check
def summary_table(workspace: Path) -> float:
    rows = md_table(output(workspace, "output/incident.md"), ["Service", "WARN", "ERROR"])
    counts = Counter((service, level) for _, service, level, _ in TIMELINE)
    wanted: list[list[Any]] = [[name, counts[name, "WARN"], counts[name, "ERROR"]] for name in sorted(LINES)]
    return len(rows) == len(wanted) and all(
        row[0] == want[0] and is_int(row[1], want[1]) and is_int(row[2], want[2])
        for row, want in zip(rows, wanted, strict=True)
    )
