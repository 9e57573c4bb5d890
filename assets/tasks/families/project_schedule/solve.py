"""Schedule the project by its rules."""

import configparser
import csv
import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

START = "2026-03-02"
SHOWN = 5

tasks: dict[str, dict[str, Any]] = {}
for raw in Path("plan/tasks.yaml").read_text().splitlines():
    line = raw.split("#")[0].rstrip()
    if not line:
        continue
    key, _, value = line.strip().partition(":")
    if not line.startswith(" "):
        current = tasks.setdefault(key, {})
    else:
        current[key] = value.strip().strip('"')

issues = []
for label, task in tasks.items():
    named = [part.strip() for part in task["after"].split(",") if part.strip()]
    issues += [(label, other) for other in named if other not in tasks]
    task["before"] = [other for other in named if other in tasks]
    task["days"] = int(task["days"])

with open("plan/holidays.csv", newline="") as handle:
    holidays = {date.fromisoformat(row["date"]) for row in csv.DictReader(handle)}
config = configparser.ConfigParser()
config.read("plan/teams.ini")
teams = {
    name: {
        "from": date.fromisoformat(config[name]["available_from"]),
        "away": {date.fromisoformat(part.strip()) for part in config[name]["away"].split(",") if part.strip()},
    }
    for name in config.sections()
}


def working(team: str, day: date) -> bool:
    """Whether the team works that day."""
    info: dict[str, Any] = teams[team]
    return day.weekday() < 5 and day not in holidays and day not in info["away"] and day >= info["from"]


def chain(label: str) -> int:
    """Own days plus the longest chain of what comes after."""
    later = [chain(other) for other, task in tasks.items() if label in task["before"]]
    return int(tasks[label]["days"]) + max(later, default=0)


chains = {label: chain(label) for label in tasks}
busy: dict[str, str] = {}
left = {label: task["days"] for label, task in tasks.items()}
start: dict[str, date] = {}
end: dict[str, date] = {}
day = date.fromisoformat(START)
while len(end) < len(tasks):
    for team in teams:
        if not working(team, day):
            continue
        if team not in busy:
            ready = [
                label
                for label, task in tasks.items()
                if task["team"] == team
                and label not in start
                and all(other in end and end[other] < day for other in task["before"])
            ]
            if not ready:
                continue
            ready.sort(key=lambda label: (-chains[label], label))
            busy[team] = ready[0]
            start[ready[0]] = day
        label = busy[team]
        left[label] -= 1
        if left[label] == 0:
            end[label] = day
            del busy[team]
    day += timedelta(days=1)

Path("output").mkdir(exist_ok=True)
order = sorted(tasks, key=lambda label: (start[label], label))
with open("output/schedule.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["task", "name", "team", "start", "end", "chain"])
    for label in order:
        writer.writerow([label, tasks[label]["name"], tasks[label]["team"], start[label], end[label], chains[label]])
with open("output/issues.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["task", "unknown_id"])
    writer.writerows(sorted(issues))

summary = {}
for team in sorted(teams):
    mine = [label for label in order if tasks[label]["team"] == team]
    first, last = start[mine[0]], max(end[label] for label in mine)
    span = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    total = sum(tasks[label]["days"] for label in mine)
    summary[team] = {
        "tasks": mine,
        "busy_days": total,
        "first_day": str(first),
        "last_day": str(last),
        "idle_days": sum(working(team, d) for d in span) - total,
    }
Path("output/teams.json").write_text(json.dumps(summary, indent=2) + "\n")

top = min(chains, key=lambda label: (-chains[label], label))
late = sorted(tasks, key=lambda label: (-end[label].toordinal(), label))[:SHOWN]
lines = ["# Project plan", "", f"Finish: {max(end.values())}", f"Longest chain: {chains[top]} working days"]
lines += [f"Starts the longest chain: {top}", "", "| Task | Team | Start | End |", "| --- | --- | --- | --- |"]
lines += [f"| {label} | {tasks[label]['team']} | {start[label]} | {end[label]} |" for label in late]
Path("output/plan.md").write_text("\n".join(lines) + "\n")
print("finish", max(end.values()), "issues", len(issues))
