"""Conflicts, free time and load out of calendar files."""

import csv
import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

HOME = "Europe/Berlin"
FIRST = "2026-03-23"
LAST = "2026-04-03"
OPENS = "09:00"
CLOSES = "17:00"
LENGTH = 45

zones: dict[str, list[tuple[datetime, timedelta]]] = {}
with open("calendars/zones.csv", newline="") as file:
    for row in csv.DictReader(file):
        sign, hours, minutes = row["offset"][0], int(row["offset"][1:3]), int(row["offset"][4:])
        offset = timedelta(hours=hours, minutes=minutes) * (-1 if sign == "-" else 1)
        zones.setdefault(row["zone"], []).append((datetime.strptime(row["from_utc"], "%Y-%m-%dT%H:%MZ"), offset))


def to_utc(wall: datetime, zone: str) -> datetime:
    if zone == "UTC":
        return wall
    result = wall
    for since, offset in zones[zone]:
        if wall - offset >= since:
            result = wall - offset
    return result


def to_home(moment: datetime) -> datetime:
    return moment + [offset for since, offset in zones[HOME] if since <= moment][-1]


def moment(parameters: str, text: str) -> tuple[datetime, str]:
    """Wall time and zone."""
    zone = re.search(r"TZID=([^;:]+)", parameters)
    name = "UTC" if text.endswith("Z") else zone[1] if zone else HOME
    return datetime.strptime(text.rstrip("Z"), "%Y%m%dT%H%M%S"), name


def events(path: Path) -> list[dict[str, Any]]:
    found = []
    text = re.sub(r"\r?\n ", "", path.read_text("utf-8"))
    for block in re.findall(r"BEGIN:VEVENT\n(.*?)END:VEVENT", text, re.S):
        event: dict[str, Any] = {"EXDATE": []}
        for line in block.splitlines():
            head, _, value = line.partition(":")
            name, _, parameters = head.partition(";")
            if name == "EXDATE":
                event["EXDATE"] += [to_utc(*moment(parameters, part)) for part in value.split(",")]
            elif name in ("DTSTART", "DTEND", "RECURRENCE-ID") and "VALUE=DATE" not in parameters:
                event[name] = moment(parameters, value)
            else:
                event[name] = value.replace("\\,", ",")
        found.append(event)
    return found


def length(event: dict[str, Any]) -> timedelta:
    if "DTEND" in event:
        return to_utc(*event["DTEND"]) - to_utc(*event["DTSTART"])
    parts = re.fullmatch(r"PT(?:(\d+)H)?(?:(\d+)M)?", event["DURATION"])
    assert parts
    return timedelta(hours=int(parts[1] or 0), minutes=int(parts[2] or 0))


def starts(event: dict[str, Any]) -> list[datetime]:
    wall, zone = event["DTSTART"]
    if "RRULE" not in event:
        return [to_utc(wall, zone)]
    rule = dict(part.split("=") for part in event["RRULE"].split(";"))
    days = [["MO", "TU", "WE", "TH", "FR", "SA", "SU"].index(day) for day in rule["BYDAY"].split(",")]
    monday = wall - timedelta(days=wall.weekday())
    found: list[datetime] = []
    for number in range(0, 40, int(rule.get("INTERVAL", 1))):
        for day in sorted(days):
            at = monday + timedelta(weeks=number, days=day)
            if at >= wall:
                found.append(to_utc(at, zone))
    if "COUNT" in rule:
        found = found[: int(rule["COUNT"])]
    if "UNTIL" in rule:
        last = datetime.strptime(rule["UNTIL"], "%Y%m%dT%H%M%SZ")
        found = [at for at in found if at <= last]
    return found


first_day, last_day = datetime.fromisoformat(FIRST), datetime.fromisoformat(LAST)
working = [first_day + timedelta(days=n) for n in range((last_day - first_day).days + 1)]
working = [day for day in working if day.weekday() < 5]
conflicts, load, busy = [], [], []
for path in sorted(Path("calendars").glob("*.ics")):
    meetings = []
    everything = events(path)
    replaced = {(e["UID"], to_utc(*e["RECURRENCE-ID"])) for e in everything if "RECURRENCE-ID" in e}
    for event in everything:
        if event.get("STATUS") == "CANCELLED" or event.get("TRANSP") == "TRANSPARENT":
            continue
        if isinstance(event["DTSTART"], str):
            busy.append(tuple(datetime.strptime(event[name], "%Y%m%d") for name in ("DTSTART", "DTEND")))
            continue
        for at in starts(event):
            gone = "RECURRENCE-ID" not in event and (event["UID"], at) in replaced
            if at in event["EXDATE"] or gone:
                continue
            begin = to_home(at)
            busy.append((begin, to_home(at + length(event))))
            if datetime(begin.year, begin.month, begin.day) in working:
                meetings.append((begin, event["SUMMARY"], to_home(at + length(event))))
    meetings.sort()
    for i, (_, summary, end) in enumerate(meetings):
        for other, name, until in meetings[i + 1 :]:
            if other < end:
                conflicts.append((other, path.stem, summary, name, min(end, until)))
    spent = sum((end - begin).total_seconds() for begin, _, end in meetings) / 3600
    load.append(f"| {path.stem} | {len(meetings)} | {spent:.2f} |")

free: dict[str, list[list[str]]] = {}
for day in working:
    at = datetime.fromisoformat(f"{day:%Y-%m-%d}T{OPENS}")
    close = datetime.fromisoformat(f"{day:%Y-%m-%d}T{CLOSES}")
    slots = []
    for begin, end in [*sorted(busy), (close, close)]:
        until = min(begin, close)
        if until - at >= timedelta(minutes=LENGTH):
            slots.append([f"{at:%H:%M}", f"{until:%H:%M}"])
        at = max(at, end)
    free[f"{day:%Y-%m-%d}"] = slots

Path("output").mkdir(exist_ok=True)
with open("output/conflicts.csv", "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["person", "from", "to", "first", "second"])
    for begin, person, summary, name, end in sorted(conflicts):
        writer.writerow([person, f"{begin:%Y-%m-%d %H:%M}", f"{end:%Y-%m-%d %H:%M}", summary, name])
Path("output/free.json").write_text(json.dumps(free, indent=2) + "\n")
first_free = next(f"{day} {slots[0][0]}" for day, slots in free.items() if slots)
lines = ["# Load", "", f"Conflicts: {len(conflicts)}", f"First free: {first_free}", ""]
lines += ["| Person | Meetings | Hours |", "| --- | --- | --- |", *load]
Path("output/load.md").write_text("\n".join(lines) + "\n", "utf-8")
