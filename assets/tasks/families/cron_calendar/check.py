"""Verifier of `cron_calendar`: expands the handed-out crontab day by day and applies the windows anew."""

from __future__ import annotations

import configparser
import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    check,
    is_int,
    labelled,
    md_table,
    object_keys,
    original,
    original_yaml,
    output,
    output_csv,
    output_json,
    section,
)

START = "2026-01-05"
DAY = 24 * 60
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
FIELDS: tuple[tuple[int, int, tuple[str, ...]], ...] = (
    (0, 59, ()),
    (0, 23, ()),
    (1, 31, ()),
    (1, 12, MONTHS),
    (0, 7, WEEKDAYS),
)
SHORT = {"@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@hourly": "0 * * * *"}


def values(text: str, index: int) -> set[int] | None:
    """What a time field allows; None where it is out of range. Minutes of the week are counted from START."""
    low, high, names = FIELDS[index]
    found: set[int] = set()
    for part in text.lower().split(","):
        match = re.fullmatch(r"(\*|\w+)(?:-(\w+))?(?:/(\d+))?", part)
        if match is None:
            return None
        ends = [low + names.index(end) if end in names else end for end in (match[1], match[2] or match[1])]
        first, last = (low, high) if match[1] == "*" else (int(ends[0]), int(ends[1]))
        if first < low or last > high or first > last:
            return None
        found.update(range(first, last + 1, int(match[3] or 1)))
    return found


def expand() -> tuple[list[tuple[str, list[int]]], list[int]]:
    """For each valid line its job and the minutes at which it starts; numbers of the invalid lines."""
    lines, wrong = [], []
    for number, text in enumerate(original("jobs/crontab").split("\n"), 1):
        match = re.match(r"\s*(@\w+|(?:[^\s#=]+\s+){4}[^\s=]+)\s+/opt/jobs/run\s+(\S+)", text)
        if match is None:
            continue
        written = SHORT.get(match[1], match[1]).split()
        allowed = [values(field, index) for index, field in enumerate(written)]
        if any(field is None for field in allowed):
            wrong.append(number)
            continue
        minutes, hours, days, months, weekdays = (field or set() for field in allowed)
        starts = []
        for n in range(7):
            day = date.fromisoformat(START) + timedelta(days=n)
            fits = [day.day in days, bool({day.isoweekday(), day.isoweekday() % 7} & weekdays)]
            either = written[2] != "*" and written[4] != "*"
            if day.month in months and (any(fits) if either else all(fits)):
                starts += [n * DAY + 60 * hour + minute for hour in hours for minute in minutes]
        lines.append((match[2], starts))
    return lines, wrong


def minute_of(text: str) -> int:
    """Minutes from START to a moment."""
    day, clock = text.split()
    hour, minute = clock.split(":")
    return (date.fromisoformat(day) - date.fromisoformat(START)).days * DAY + 60 * int(hour) + int(minute)


def shown(minute: int) -> str:
    """The moment so many minutes after START."""
    day = date.fromisoformat(START) + timedelta(days=minute // DAY)
    return f"{day} {minute % DAY // 60:02d}:{minute % 60:02d}"


LINES, INVALID = expand()
JOBS = configparser.ConfigParser()
JOBS.read_string(original("jobs/jobs.ini"))
HOST = {job: JOBS[job]["host"] for job, _ in LINES}
LENGTH = {job: int(JOBS[job]["minutes"]) for job, _ in LINES}
WINDOWS = [
    (re.split(r"\s*,\s*", w["host"]), minute_of(w["start"]), minute_of(w["end"]), w["policy"])
    for w in original_yaml("jobs/windows.yaml").values()
]


def simulate() -> tuple[dict[tuple[int, str], str], dict[str, list[int]]]:
    """Runs with their state; for each job how often it was scheduled and skipped."""
    regular: set[tuple[int, str]] = set()
    delayed: set[tuple[int, str]] = set()
    counts = {job: [0, 0] for job in HOST}
    for job, starts in LINES:
        for minute in starts:
            counts[job][0] += 1
            hit = [w for w in WINDOWS if {"all", HOST[job]} & set(w[0]) and w[1] <= minute < w[2]]
            policy = hit[0][3] if hit else "allow"
            if policy == "skip":
                counts[job][1] += 1
            elif policy == "delay":
                delayed.add((hit[0][2], job))
            else:
                regular.add((minute, job))
    return {key: "on_time" if key in regular else "delayed" for key in sorted(regular | delayed)}, counts


RUNS, COUNTS = simulate()
KEYS = {(shown(minute), job): (minute, job) for minute, job in RUNS}
STARTS = {job: [minute for minute, other in RUNS if other == job] for job in HOST}
ENDS = {key: (HOST[job], shown(minute + LENGTH[job])) for key, (minute, job) in KEYS.items()}


def crashes() -> list[list[str]]:
    """Rows of collisions.csv."""
    order = list(RUNS)
    found = []
    for i, (minute, job) in enumerate(order):
        for later, other in order[:i]:
            shared = min(later + LENGTH[other], minute + LENGTH[job]) - minute
            if HOST[other] == HOST[job] and shared > 0:
                found.append((minute, job, later, other, shared))
    return [[HOST[j], o, shown(a), j, shown(m), str(n)] for m, j, a, o, n in sorted(found)]


COLLISIONS = crashes()


def rows(workspace: Path) -> list[dict[str, str]]:
    return output_csv(workspace, "output/runs.csv", ["job", "host", "start", "end", "state"])


@check
def runs_listed(workspace: Path) -> float:
    return [(row["start"], row["job"]) for row in rows(workspace)] == list(KEYS)


@check
def run_states(workspace: Path) -> float:
    found = {(row["start"], row["job"]): row["state"] for row in rows(workspace)}
    return found == {key: RUNS[run] for key, run in KEYS.items()}


@check
def run_hosts_and_ends(workspace: Path) -> float:
    """Of every run that should be there and every run that is."""
    return {(row["start"], row["job"]): (row["host"], row["end"]) for row in rows(workspace)} == ENDS


def jobs(workspace: Path) -> dict[str, Any]:
    found = object_keys(output_json(workspace, "output/jobs.json"), list(HOST))
    keys = ["scheduled", "skipped", "merged", "ran", "busy_minutes", "first", "last"]
    return {job: object_keys(entry, keys) for job, entry in found.items()}


@check
def jobs_scheduled(workspace: Path) -> float:
    found = jobs(workspace)
    return all(is_int(found[job]["scheduled"], scheduled) for job, (scheduled, _) in COUNTS.items())


@check
def jobs_skipped_and_merged(workspace: Path) -> float:
    found = jobs(workspace)
    return all(
        is_int(found[job]["skipped"], skipped) and is_int(found[job]["merged"], scheduled - skipped - len(STARTS[job]))
        for job, (scheduled, skipped) in COUNTS.items()
    )


@check
def jobs_run(workspace: Path) -> float:
    found = jobs(workspace)
    return all(
        is_int(found[job]["ran"], len(STARTS[job]))
        and is_int(found[job]["busy_minutes"], len(STARTS[job]) * LENGTH[job])
        for job in HOST
    )


@check
def jobs_first_and_last(workspace: Path) -> float:
    wanted = {job: (shown(times[0]), shown(times[-1])) if times else (None, None) for job, times in STARTS.items()}
    return {job: (entry["first"], entry["last"]) for job, entry in jobs(workspace).items()} == wanted


def listed(workspace: Path) -> list[dict[str, str]]:
    header = ["host", "first_job", "first_start", "second_job", "second_start", "minutes"]
    return output_csv(workspace, "output/collisions.csv", header)


@check
def collisions_found(workspace: Path) -> float:
    return [list(row.values())[:5] for row in listed(workspace)] == [row[:5] for row in COLLISIONS]


@check
def collisions_measured(workspace: Path) -> float:
    found = {tuple(list(row.values())[:5]): row["minutes"] for row in listed(workspace)}
    wanted = {tuple(row[:5]): int(row[5]) for row in COLLISIONS}
    return set(found) == set(wanted) and all(is_int(found[key], minutes) for key, minutes in wanted.items())


def report(workspace: Path) -> str:
    return section(output(workspace, "output/report.md"), f"Week from {START}")


@check
def report_numbers(workspace: Path) -> float:
    text = report(workspace)
    return is_int(labelled(text, "Runs"), len(RUNS)) and is_int(labelled(text, "Collisions"), len(COLLISIONS))


@check
def report_invalid_lines(workspace: Path) -> float:
    return re.findall(r"\d+", labelled(report(workspace), "Invalid lines")) == [str(n) for n in INVALID]


@check
def report_hosts(workspace: Path) -> float:
    hit = {host: sum(row[0] == host for row in COLLISIONS) for host in HOST.values()}
    wanted = []
    for host in sorted({HOST[job] for _, job in RUNS}, key=lambda h: (-hit[h], h)):
        mine = [job for _, job in RUNS if HOST[job] == host]
        wanted.append([host, str(len(mine)), str(sum(LENGTH[job] for job in mine)), str(hit[host])])
    return md_table(report(workspace), ["Host", "Runs", "Busy minutes", "Collisions"]) == wanted
