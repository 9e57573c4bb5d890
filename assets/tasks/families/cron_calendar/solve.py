"""What the cron jobs do in a week with maintenance windows."""

import configparser
import csv
import json
import re
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

START = "2026-01-05"

MINUTE = timedelta(minutes=1)
BOUNDS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]
NAMES = {3: "jan feb mar apr may jun jul aug sep oct nov dec", 4: "sun mon tue wed thu fri sat"}
MACROS = {"@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@hourly": "0 * * * *"}


def parse_field(text: str, index: int) -> set[int]:
    low, high = BOUNDS[index]
    values: set[int] = set()
    names = NAMES.get(index, "").split()
    for part in text.lower().split(","):
        for offset, word in enumerate(names):
            part = part.replace(word, str(offset + low))
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        begin, end = (low, high) if span == "*" else (int(first), int(last or first))
        if not low <= begin <= end <= high:
            raise ValueError(part)
        values |= set(range(begin, end + 1, int(step or 1)))
    return {value % 7 for value in values} if index == 4 else values


jobs = configparser.ConfigParser()
jobs.read("jobs/jobs.ini")

windows: list[dict[str, Any]] = []
for raw in Path("jobs/windows.yaml").read_text().splitlines():
    if raw.startswith("  "):
        key, _, value = raw.strip().partition(":")
        value = value.strip().strip("\"'")
        windows[-1][key] = datetime.fromisoformat(value) if key in ("start", "end") else value
    elif raw.rstrip().endswith(":"):
        windows.append({})


def touched(host: str, moment: datetime) -> dict[str, Any] | None:
    for window in windows:
        meant = [name.strip() for name in window["host"].split(",")]
        if (host in meant or meant == ["all"]) and window["start"] <= moment and moment < window["end"]:
            return window
    return None


invalid, lines = [], []
for number, raw in enumerate(Path("jobs/crontab").read_text().splitlines(), 1):
    text = raw.strip()
    if not text or text.startswith("#") or re.match(r"\w+=", text):
        continue
    written, command = text.split("/opt/jobs/run ")
    times = MACROS.get(written.strip(), written).split()
    try:
        fields = [parse_field(field, i) for i, field in enumerate(times)]
    except ValueError:
        invalid.append(number)
        continue
    lines.append((command.split()[0], fields, times[2] != "*" and times[4] != "*"))

start = datetime.fromisoformat(START)
stats: dict[str, dict[str, Any]] = {
    job: {"scheduled": 0, "skipped": 0, "merged": 0, "ran": 0, "busy_minutes": 0, "first": None, "last": None}
    for job in sorted({job for job, _, _ in lines})
}
states: dict[tuple[datetime, str], str] = {}
for job, (minutes, hours, dates, months, weekdays), either in lines:
    host = jobs[job]["host"]
    for n in range(7 * 24 * 60):
        moment = start + n * MINUTE
        if moment.minute not in minutes or moment.hour not in hours or moment.month not in months:
            continue
        by_date, by_weekday = moment.day in dates, moment.isoweekday() % 7 in weekdays
        if not (by_date or by_weekday if either else by_date and by_weekday):
            continue
        stats[job]["scheduled"] += 1
        window = touched(host, moment)
        if window is None or window["policy"] == "allow":
            states[moment, job] = "on_time"
        elif window["policy"] == "skip":
            stats[job]["skipped"] += 1
        else:
            states.setdefault((window["end"], job), "delayed")

runs = []
for (moment, job), state in sorted(states.items()):
    length = jobs.getint(job, "minutes")
    runs.append((job, jobs[job]["host"], moment, moment + length * MINUTE, state))
    entry = stats[job]
    entry["ran"] += 1
    entry["busy_minutes"] += length
    entry["first"] = entry["first"] or f"{moment:%Y-%m-%d %H:%M}"
    entry["last"] = f"{moment:%Y-%m-%d %H:%M}"
for entry in stats.values():
    entry["merged"] = entry["scheduled"] - entry["skipped"] - entry["ran"]

collisions = []
for i, (job, host, begin, end, _) in enumerate(runs):
    for other, place, later, until, _ in runs[i + 1 :]:
        if later >= end:
            break
        if place == host:
            collisions.append((host, job, begin, other, later, (min(end, until) - later) // MINUTE))
collisions.sort(key=lambda c: (c[4], c[3], c[2], c[1]))

Path("output").mkdir(exist_ok=True)
with open("output/runs.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["job", "host", "start", "end", "state"])
    for job, host, begin, until, state in runs:
        writer.writerow([job, host, f"{begin:%Y-%m-%d %H:%M}", f"{until:%Y-%m-%d %H:%M}", state])
Path("output/jobs.json").write_text(json.dumps(stats, indent=2) + "\n")
with open("output/collisions.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["host", "first_job", "first_start", "second_job", "second_start", "minutes"])
    for host, job, begin, other, later, shared in collisions:
        writer.writerow([host, job, f"{begin:%Y-%m-%d %H:%M}", other, f"{later:%Y-%m-%d %H:%M}", shared])

per_host: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
for _, host, begin, end, _ in runs:
    per_host[host][0] += 1
    per_host[host][1] += (end - begin) // MINUTE
for crash in collisions:
    per_host[crash[0]][2] += 1
report = [f"# Week from {START}", "", f"Runs: {len(runs)}", f"Collisions: {len(collisions)}"]
report += [f"Invalid lines: {', '.join(map(str, invalid))}", ""]
report += ["| Host | Runs | Busy minutes | Collisions |", "| --- | --- | --- | --- |"]
for host, (count, busy, crashes) in sorted(per_host.items(), key=lambda item: (-item[1][2], item[0])):
    report.append(f"| {host} | {count} | {busy} | {crashes} |")
Path("output/report.md").write_text("\n".join(report) + "\n")
print(len(runs), "runs,", len(collisions), "collisions")
