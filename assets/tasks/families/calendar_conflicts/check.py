"""Verifier of `calendar_conflicts`: expands the calendars day by day and counts in minutes of local time."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    ORIGINALS,
    check,
    is_int,
    labelled,
    md_table,
    number,
    object_keys,
    original,
    original_csv,
    output,
    output_csv,
    output_json,
    section,
    share,
)

HOME = "Europe/Berlin"
FIRST = "2026-03-23"
LAST = "2026-04-03"
OPENS = "09:00"
CLOSES = "17:00"
LENGTH = 45
COLUMNS = ["person", "from", "to", "first", "second"]
ORIGIN = date(2020, 1, 1)
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def minutes(text: str) -> int:
    """Minutes from the origin to a moment such as 20260323T0930 or 2026-03-23T09:30, whatever its zone."""
    d = re.sub(r"\D", "", text)
    day = date(int(d[:4]), int(d[4:6]), int(d[6:8]))
    return (day - ORIGIN).days * 1440 + int(d[8:10] or 0) * 60 + int(d[10:12] or 0)


def distance(text: str) -> int:
    """Minutes of an offset such as -04:00."""
    return int(f"{text[0]}1") * (int(text[1:3]) * 60 + int(text[4:6]))


ZONES = [
    (row["zone"], minutes(row["from_utc"]), distance(row["offset"])) for row in original_csv("calendars/zones.csv")
]


def offset(zone: str, utc: int) -> int:
    """Minutes that a zone is ahead of UTC at a UTC moment."""
    return [ahead for name, since, ahead in ZONES if name == zone and since <= utc][-1]


def utc_of(wall: int, zone: str) -> int:
    if zone == "UTC":
        return wall
    ahead = {offset(zone, wall + shift) for shift in (-1440, 1440)}
    return next(wall - a for a in sorted(ahead) if offset(zone, wall - a) == a)


def home(utc: int) -> int:
    return utc + offset(HOME, utc)


def stamp(line: str) -> tuple[int, str]:
    """Wall minutes and zone of a property line."""
    head, _, value = line.partition(":")
    zone = re.search("TZID=([^;]+)", head)
    return minutes(value), "UTC" if value.endswith("Z") else zone[1] if zone else HOME


def parse(path: str) -> list[dict[str, Any]]:
    found = []
    for block in original(path).replace("\n ", "").split("BEGIN:VEVENT\n")[1:]:
        lines = block.split("\nEND:VEVENT")[0].split("\n")
        event: dict[str, Any] = {re.split("[;:]", line)[0]: line for line in lines}
        event["values"] = {name: line.partition(":")[2] for name, line in event.items()}
        out = event.get("EXDATE", "")
        event["out"] = {
            utc_of(*stamp(out.partition(":")[0] + ":" + part)) for part in out.partition(":")[2].split(",") if part
        }
        found.append(event)
    return found


def occurs(event: dict[str, Any]) -> list[int]:
    """UTC minutes at which occurrences begin."""
    wall, zone = stamp(event["DTSTART"])
    if "RRULE" not in event:
        return [utc_of(wall, zone)]
    rule = dict(part.split("=") for part in event["values"]["RRULE"].split(";"))
    start = ORIGIN + timedelta(days=wall // 1440)
    week = start - timedelta(days=start.isoweekday() - 1)
    found: list[int] = []
    for ahead in range(300):
        day = start + timedelta(days=ahead)
        right_week = (day - week).days // 7 % int(rule.get("INTERVAL", 1)) == 0
        if right_week and WEEKDAYS[day.weekday()] in rule["BYDAY"].split(","):
            at = utc_of(wall + 1440 * ahead, zone)
            if len(found) < int(rule.get("COUNT", 999)) and at <= minutes(rule.get("UNTIL", "20990101")):
                found.append(at)
    return found


def lasts(event: dict[str, Any]) -> int:
    if "DTEND" in event:
        return utc_of(*stamp(event["DTEND"])) - utc_of(*stamp(event["DTSTART"]))
    parts: dict[str, int] = {unit: int(size) for size, unit in re.findall(r"(\d+)([HM])", event["values"]["DURATION"])}
    return parts.get("H", 0) * 60 + parts.get("M", 0)


WORKING = [date.fromisoformat(FIRST) + timedelta(days=n) for n in range(40)]
WORKING = [day for day in WORKING if day.isoweekday() < 6 and day <= date.fromisoformat(LAST)]
DAYS = {(day - ORIGIN).days: day.isoformat() for day in WORKING}
Meeting = tuple[int, str, int]


def calendar(path: str) -> tuple[list[Meeting], list[tuple[int, int]]]:
    """Meetings and busy times of a person, in minutes of local time."""
    meetings, taken = [], []
    events = parse(path)
    replaced = {(e["values"]["UID"], utc_of(*stamp(e["RECURRENCE-ID"]))) for e in events if "RECURRENCE-ID" in e}
    for event in events:
        values = event["values"]
        if values.get("STATUS") == "CANCELLED" or values.get("TRANSP") == "TRANSPARENT":
            continue
        if "VALUE=DATE" in event["DTSTART"]:
            taken.append((minutes(values["DTSTART"]), minutes(values["DTEND"])))
            continue
        for at in occurs(event):
            if at in event["out"] or ("RECURRENCE-ID" not in event and (values["UID"], at) in replaced):
                continue
            begin, end = home(at), home(at + lasts(event))
            taken.append((begin, end))
            if begin // 1440 in DAYS:
                meetings.append((begin, values["SUMMARY"].replace("\\,", ","), end))
    return sorted(meetings), taken


PEOPLE = sorted(path.split("/")[1][:-4] for path in ORIGINALS if path.endswith(".ics"))
CALENDARS = {person: calendar(f"calendars/{person}.ics") for person in PEOPLE}


def shown(at: int) -> str:
    return f"{ORIGIN + timedelta(days=at // 1440)} {clock(at)}"


def clock(at: int) -> str:
    return f"{at % 1440 // 60:02}:{at % 60:02}"


def all_conflicts() -> list[dict[str, str]]:
    found = []
    for person, (meetings, _) in CALENDARS.items():
        for i, a in enumerate(meetings):
            for b in meetings[i + 1 :]:
                if max(a[0], b[0]) < min(a[2], b[2]):
                    found.append((shown(max(a[0], b[0])), person, a[1], b[1], shown(min(a[2], b[2]))))
    return [dict(zip(COLUMNS, (p, start, end, a, b), strict=True)) for start, p, a, b, end in sorted(found)]


def all_free() -> dict[str, list[list[str]]]:
    """Minute by minute: in what runs nobody is busy."""
    taken = [span for _, spans in CALENDARS.values() for span in spans]
    low, high = (int(text[:2]) * 60 + int(text[3:]) for text in (OPENS, CLOSES))
    found: dict[str, list[list[str]]] = {}
    for number_of_day, day in DAYS.items():
        base = number_of_day * 1440
        near = [(a - base, b - base) for a, b in taken if b > base and a < base + 1440]
        free = [low <= m < high and not any(a <= m < b for a, b in near) for m in range(1441)]
        edges = [m for m in range(1, 1441) if free[m] != free[m - 1]]
        slots = list(zip(edges[::2], edges[1::2], strict=True))
        found[day] = [[clock(a), clock(b)] for a, b in slots if b - a >= LENGTH]
    return found


CONFLICTS = all_conflicts()
FREE = all_free()


def conflicts(workspace: Path) -> list[dict[str, str]]:
    return output_csv(workspace, "output/conflicts.csv", COLUMNS)


@check
def conflicting_pairs_found(workspace: Path) -> float:
    """Who has what against what on which day."""
    wanted = {(row["person"], row["from"][:10], row["first"], row["second"]) for row in CONFLICTS}
    found = {(row["person"], row["from"][:10], row["first"], row["second"]) for row in conflicts(workspace)}
    return share(len(wanted & found), max(len(wanted), len(found)))


@check
def conflict_times_right(workspace: Path) -> float:
    found = conflicts(workspace)
    return share(sum(row in CONFLICTS for row in found), max(len(found), len(CONFLICTS)))


@check
def conflicts_exact(workspace: Path) -> float:
    return conflicts(workspace) == CONFLICTS


def free(workspace: Path) -> dict[str, Any]:
    return object_keys(output_json(workspace, "output/free.json"), list(FREE))


@check
def free_days_right(workspace: Path) -> float:
    found = free(workspace)
    return share(sum(found[day] == slots for day, slots in FREE.items()), len(FREE))


@check
def free_exact(workspace: Path) -> float:
    return free(workspace) == FREE


def load(workspace: Path) -> str:
    return section(output(workspace, "output/load.md"), "Load")


def people_rows(workspace: Path) -> dict[str, list[str]]:
    rows = md_table(load(workspace), ["Person", "Meetings", "Hours"])
    return {row[0]: row for row in rows} if [row[0] for row in rows] == PEOPLE else {}


@check
def meetings_counted(workspace: Path) -> float:
    rows = people_rows(workspace)
    return share(sum(is_int(rows[p][1], len(CALENDARS[p][0])) for p in rows), len(PEOPLE))


@check
def hours_summed(workspace: Path) -> float:
    rows = people_rows(workspace)
    spent = {p: sum(end - begin for begin, _, end in CALENDARS[p][0]) for p in PEOPLE}
    return share(sum(number(rows[p][2]) * 60 == spent[p] for p in rows), len(PEOPLE))


@check
def conflict_count(workspace: Path) -> float:
    return is_int(labelled(load(workspace), "Conflicts"), len(CONFLICTS))


@check
def first_free_right(workspace: Path) -> float:
    return labelled(load(workspace), "First free") == next(f"{d} {slots[0][0]}" for d, slots in FREE.items() if slots)
