"""Family `calendar_conflicts`: calendars with recurring events, in zones that change their clocks, against each other.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, people, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

EU: Final = ("2025-10-26T01:00", "2026-03-29T01:00", "2026-10-25T01:00")
US: Final = ("2025-11-02T06:00", "2026-03-08T07:00", "2026-11-01T06:00")
ZONES: Final = {
    "Europe/Berlin": 60,
    "Europe/Lisbon": 0,
    "Europe/Athens": 120,
    "America/New_York": -300,
    "Asia/Kolkata": 330,
}
"""Minutes ahead of UTC in winter."""
WINDOWS: Final = (date(2026, 3, 2), date(2026, 3, 23), date(2026, 10, 19), date(2026, 10, 26))
"""Mondays: within two weeks from each, Europe or New York changes its clocks."""
CODES: Final = ("MO", "TU", "WE", "TH", "FR")
TITLES: Final = (
    "Stand-up", "Planning", "Review, week", "Supplier call", "Budget round", "Interview", "Site walk", "Design check",
    "Training", "Handover", "Quality circle", "Lunch talk", "Sales, north", "Board prep", "Safety briefing", "Coaching",
    "Retrospective", "Demo", "Press call", "Tender, bids", "Audit prep", "Shift plan", "Roadmap", "Customer visit",
)  # fmt: skip
WALL: Final = "%Y%m%dT%H%M%S"


@dataclass(frozen=True)
class Meeting:
    """An occurrence, in local time of the home zone."""

    begin: datetime
    end: datetime
    summary: str


@dataclass
class Series:
    """An event as it is meant: wall times in its own zone."""

    uid: str
    summary: str
    zone: str | None
    """None: floating, so in the home zone; `UTC` for times with a Z."""
    start: datetime
    minutes: int
    days: tuple[int, ...] = ()
    interval: int = 1
    count: int | None = None
    until: datetime | None = None
    """UTC."""
    skipped: set[datetime] = field(default_factory=set)
    moved: dict[datetime, datetime | None] = field(default_factory=dict)
    """Wall time of an occurrence to its new one; None if it is cancelled."""
    mark: str = ""
    """STATUS or TRANSP line that takes it out of the calendar."""

    def walls(self, home: str) -> Iterator[datetime]:
        """Wall times of the occurrences before any is taken out."""
        if not self.days:
            yield self.start
            return
        given, week = 0, self.start - timedelta(days=self.start.weekday())
        for ahead in range(120):
            at = self.start + timedelta(days=ahead)
            if at.weekday() in self.days and (at - week).days // 7 % self.interval == 0:
                late = self.until is not None and _utc(at, self.zone or home) > self.until
                if late or given == self.count:
                    return
                given += 1
                yield at

    def meetings(self, home: str) -> Iterator[Meeting]:
        """What takes place."""
        if self.mark:
            return
        for wall in self.walls(home):
            if wall in self.skipped:
                continue
            at = self.moved.get(wall, wall)
            if at is not None:
                begin = _utc(at, self.zone or home)
                summary = self.summary + (" (moved)" if at != wall else "")
                yield Meeting(_wall(begin, home), _wall(begin + timedelta(minutes=self.minutes), home), summary)


def _ahead(zone: str, utc: datetime) -> timedelta:
    """How far a zone is ahead of UTC, by the rules of Europe and of New York."""
    if zone in ("UTC", "Asia/Kolkata"):
        return timedelta(minutes=ZONES.get(zone, 0))
    changes = US if zone.startswith("America") else EU
    summer = changes[1] <= f"{utc:%Y-%m-%dT%H:%M}" < changes[2]
    return timedelta(minutes=ZONES[zone] + 60 * summer)


def _utc(wall: datetime, zone: str) -> datetime:
    guess = wall - _ahead(zone, wall)
    return wall - _ahead(zone, guess)


def _wall(utc: datetime, zone: str) -> datetime:
    return utc + _ahead(zone, utc)


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    home = rng.choice(("Europe/Berlin", "Europe/Lisbon", "Europe/Athens"))
    monday, length = rng.choice(WINDOWS), rng.choice((30, 45, 60))
    opens, closes = rng.choice((8, 9)), rng.choice((17, 18))
    names = [name.split()[0].lower() for name in people(rng, 3)]
    series, absences = _calendars(rng, names, monday, home)
    oracle = _oracle(names, series, absences, monday, home, (opens, closes, length))
    while oracle is None:
        series, absences = _calendars(rng, names, monday, home)
        oracle = _oracle(names, series, absences, monday, home, (opens, closes, length))
    inputs: dict[str, str] = {f"calendars/{n}.ics": _ics(rng, series[n], absences[n]) for n in names}
    inputs["calendars/zones.csv"] = _zones()
    constants = {
        "HOME": home,
        "FIRST": monday.isoformat(),
        "LAST": (monday + timedelta(days=11)).isoformat(),
        "OPENS": f"{opens:02}:00",
        "CLOSES": f"{closes:02}:00",
        "LENGTH": length,
    }
    errand = "Three calendars do not fit together, and we need to find time for all three."
    text = told(
        __file__, opening=opening(rng, persona, errand), closing=leave_inputs(rng, "calendars/"),
        **{name.lower(): value for name, value in constants.items()},
    )  # fmt: skip
    return Draft(text, inputs, oracle, constants, _plan(rng, names, constants))


def _calendars(
    rng: random.Random, names: list[str], monday: date, home: str
) -> tuple[dict[str, list[Series]], dict[str, list[tuple[date, int]]]]:
    """Events and absences (first day, number of days) of each person; every kind of rule is in each calendar."""
    series, absences = {}, {}
    for name in names:
        titles = rng.sample(TITLES, 12)
        mine = [_series(rng, kind, titles.pop(), monday, home) for kind in KINDS]
        mine += [
            _single(rng, titles.pop(), monday, zone) for zone in (home, None, "UTC", "America/New_York", "Asia/Kolkata")
        ]
        mine[-1].mark = rng.choice(("STATUS:CANCELLED", "TRANSP:TRANSPARENT"))
        mine.append(_clash(rng, titles.pop(), mine[0], monday, home))
        series[name] = mine
        absences[name] = [(monday + timedelta(days=rng.choice((1, 2, 8, 9))), 1)] if name == names[0] else []
    absences[names[-1]].append((monday + timedelta(days=rng.choice((3, 4))), rng.choice((1, 3))))
    return series, absences


KINDS: Final = ("exceptions", "fortnight", "overseas", "until")


def _series(rng: random.Random, kind: str, title: str, monday: date, home: str) -> Series:
    """A weekly event of a kind; it began some weeks ago."""
    days = tuple(sorted(rng.sample(range(5), 2)))
    start = monday - timedelta(weeks=2 * rng.randint(1, 2) + (kind == "fortnight" and rng.random() < 0.5))
    first = rng.choice(days)
    zone = "America/New_York" if kind == "overseas" else rng.choice((home, None))
    hour = rng.randint(6, 10) if kind == "overseas" else rng.randint(9, 15)
    at = datetime(start.year, start.month, start.day, hour, rng.choice((0, 15, 30))) + timedelta(days=first)
    found = Series(_uid(rng), title, zone, at, rng.choice((30, 45, 60)), days)
    walls = [w for w in found.walls(home) if monday <= w.date() <= monday + timedelta(days=11)]
    if kind == "fortnight":
        found.interval, found.count = 2, rng.randint(8, 10)
    elif kind == "until":
        found.until = _utc(walls[-1 - rng.randint(0, 1)], zone or home) - timedelta(minutes=rng.choice((0, 15)))
    elif kind == "overseas":
        found.skipped = {rng.choice(walls)}
        found.count = rng.randint(10, 12)
    else:
        out, shifted, dropped = rng.sample(walls, 3)
        found.skipped = {out}
        found.moved = {shifted: shifted + timedelta(hours=rng.choice((-1, 1, 24))), dropped: None}
    return found


def _single(rng: random.Random, title: str, monday: date, zone: str | None) -> Series:
    day = monday + timedelta(days=rng.choice((0, 1, 2, 3, 4, 7, 8, 9, 10, 11)))
    low = {"America/New_York": 4, "Asia/Kolkata": 13}.get(zone or "", 9)
    at = datetime(day.year, day.month, day.day, low + rng.randint(0, 5), rng.choice((0, 30)))
    return Series(_uid(rng), title, zone, at, rng.choice((60, 75, 90, 120)))


def _clash(rng: random.Random, title: str, other: Series, monday: date, home: str) -> Series:
    """A single event that begins during an occurrence of another, or just as it ends."""
    kept = [m for m in other.meetings(home) if monday <= m.begin.date() <= monday + timedelta(days=11)]
    meeting = rng.choice(kept)
    at = rng.choice((meeting.end, meeting.begin + timedelta(minutes=15), meeting.begin))
    return Series(_uid(rng), title, home, at, rng.choice((30, 45)))


def _uid(rng: random.Random) -> str:
    return f"{rng.getrandbits(32):08x}@calendar.example"


# --- files --------------------------------------------------------------------------------------------------------


def _zones() -> str:
    rows = []
    for zone in sorted(ZONES):
        changes = US if zone.startswith("America") else EU
        for i, change in enumerate(["2025-04-01T00:00"] if zone == "Asia/Kolkata" else changes):
            minutes = ZONES[zone] + 60 * (i == 1)
            rows.append(
                f"{zone},{change}Z,{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}\n"
            )
    return "zone,from_utc,offset\n" + "".join(rows)


def _ics(rng: random.Random, series: list[Series], absences: list[tuple[date, int]]) -> str:
    blocks = [block for item in series for block in _blocks(rng, item)]
    for day, count in absences:
        end = day + timedelta(days=count)
        dates = [f"DTSTART;VALUE=DATE:{day:%Y%m%d}", f"DTEND;VALUE=DATE:{end:%Y%m%d}"]
        blocks.append([f"UID:{_uid(rng)}", f"SUMMARY:{rng.choice(('Leave', 'Fair', 'Off-site'))}", *dates])
    rng.shuffle(blocks)
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Desk//Planner 4//EN"]
    for block in blocks:
        lines += ["BEGIN:VEVENT", *block, "END:VEVENT"]
    folded = []
    for line in [*lines, "END:VCALENDAR"]:
        at = rng.randint(20, len(line) - 2) if len(line) > 34 and rng.random() < 0.6 else len(line)
        folded += [line[:at], *([f" {line[at:]}"] if at < len(line) else [])]
    return "\n".join(folded) + "\n"


def _blocks(rng: random.Random, item: Series) -> Iterator[list[str]]:
    """The event, and one more for each occurrence that is moved or cancelled."""
    lines = [f"UID:{item.uid}", f"SUMMARY:{_escaped(item.summary)}", *_span(rng, item, item.start)]
    if item.days:
        rule = f"RRULE:FREQ=WEEKLY;BYDAY={','.join(CODES[day] for day in item.days)}"
        rule += f";INTERVAL={item.interval}" if item.interval > 1 else ""
        rule += f";COUNT={item.count}" if item.count else ""
        lines.append(rule + (f";UNTIL={item.until:{WALL}}Z" if item.until else ""))
    if item.skipped:
        walls = sorted(item.skipped)
        lines.append(_stamp("EXDATE", item.zone, walls[0]) + "".join(f",{wall:{WALL}}" for wall in walls[1:]))
    if item.mark:
        lines.append(item.mark)
    elif rng.random() < 0.4:
        lines.append(rng.choice(("STATUS:CONFIRMED", "TRANSP:OPAQUE")))
    if rng.random() < 0.5:
        lines.append(f"DESCRIPTION:{rng.choice(('Dial-in as usual', 'Bring the figures, please', 'Room to be named'))}")
    yield lines
    for wall, new in sorted(item.moved.items()):
        block = [f"UID:{item.uid}", _stamp("RECURRENCE-ID", item.zone, wall)]
        block.append(f"SUMMARY:{_escaped(item.summary)}{' (moved)' if new else ''}")
        yield [*block, *_span(rng, item, new or wall), *([] if new else ["STATUS:CANCELLED"])]


def _span(rng: random.Random, item: Series, start: datetime) -> list[str]:
    hours, minutes = divmod(item.minutes, 60)
    lasts = f"DURATION:PT{f'{hours}H' if hours else ''}{f'{minutes}M' if minutes else ''}"
    end = _stamp("DTEND", item.zone, start + timedelta(minutes=item.minutes))
    return [_stamp("DTSTART", item.zone, start), rng.choice((lasts, end))]


def _stamp(name: str, zone: str | None, wall: datetime) -> str:
    parameter = f";TZID={zone}" if zone not in (None, "UTC") else ""
    return f"{name}{parameter}:{wall:{WALL}}{'Z' if zone == 'UTC' else ''}"


def _escaped(text: str) -> str:
    return text.replace(",", "\\,")


# --- answer -------------------------------------------------------------------------------------------------------


def _oracle(
    names: list[str], series: dict[str, list[Series]], absences: dict[str, list[tuple[date, int]]], monday: date,
    home: str, office: tuple[int, int, int],
) -> dict[str, str] | None:  # fmt: skip
    """Outputs from the events as they are meant; None if there are too few conflicts, free days or short gaps."""
    working = [monday + timedelta(days=n) for n in range(12) if n not in (5, 6)]
    rows, load, busy = [], [], []
    for name in sorted(names):
        everything = sorted((m for s in series[name] for m in s.meetings(home)), key=lambda m: (m.begin, m.summary))
        mine = [m for m in everything if m.begin.date() in working]
        busy += [(m.begin, m.end) for m in everything]
        pairs = [(a, b) for i, a in enumerate(mine) for b in mine[i + 1 :] if b.begin < a.end]
        rows += [(b.begin, name, a.summary, b.summary, min(a.end, b.end)) for a, b in pairs]
        hours = sum((m.end - m.begin).seconds for m in mine) / 3600
        load.append(f"| {name} | {len(mine)} | {hours:.2f} |")
        for day, count in absences[name]:
            begin = datetime(day.year, day.month, day.day)
            busy.append((begin, begin + timedelta(days=count)))
    free = {day.isoformat(): _free(busy, day, *office) for day in working}
    opened = [f"{day} {slots[0][0]}" for day, slots in free.items() if slots]
    short = any(_free(busy, day, *office[:2], 1) != free[day.isoformat()] for day in working)
    if len(rows) < 3 or len(opened) < 4 or not short:
        return None
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("person", "from", "to", "first", "second"))
    for begin, name, first, second, end in sorted(rows):
        writer.writerow((name, f"{begin:%Y-%m-%d %H:%M}", f"{end:%Y-%m-%d %H:%M}", first, second))
    report = ["# Load", "", f"Conflicts: {len(rows)}", f"First free: {opened[0]}", ""]
    report += ["| Person | Meetings | Hours |", "| --- | --- | --- |", *load]
    return {
        "output/conflicts.csv": buffer.getvalue(),
        "output/free.json": json.dumps(free, indent=2) + "\n",
        "output/load.md": "\n".join(report) + "\n",
    }


def _free(busy: list[tuple[datetime, datetime]], day: date, opens: int, closes: int, length: int) -> list[list[str]]:
    """Free runs of a day, found on a grid of quarters of an hour: everything begins and ends on one."""
    slots: list[list[datetime]] = []
    at = datetime(day.year, day.month, day.day, opens)
    while at < datetime(day.year, day.month, day.day, closes):
        after = at + timedelta(minutes=15)
        if not any(begin < after and end > at for begin, end in busy):
            if slots and slots[-1][1] == at:
                slots[-1][1] = after
            else:
                slots.append([at, after])
        at = after
    long = [slot for slot in slots if slot[1] - slot[0] >= timedelta(minutes=length)]
    return [[f"{begin:%H:%M}", f"{end:%H:%M}"] for begin, end in long]


def _plan(rng: random.Random, names: list[str], constants: dict[str, object]) -> Plan:
    name = rng.choice(("calendar_check.py", "scripts/conflicts.py", "work/calendars.py"))
    source = script(__file__, **constants)
    steps = [
        look(rng.choice(("ls -l calendars", "wc -l calendars/*"))),
        read("calendars/zones.csv", "The zones, then one calendar as a whole."),
        read(f"calendars/{names[0]}.ics", beside=True),
        run("grep -hE '^(RRULE|EXDATE|RECURRENCE-ID|STATUS|TRANSP|DURATION)' calendars/*.ics | sort | uniq -c",
            "Which rules occur at all?", phase="explore"),
        write(name, source, "Expand everything in its own zone, turn it into local time, then compare."),
        run(f"python3 {name}", "Run it."),
        verify("cat output/conflicts.csv output/load.md", "I check one conflict by hand."),
        run(f"grep -n -A8 'SUMMARY' calendars/{names[0]}.ics | head -60", phase="check", beside=True),
        read("output/free.json", "And the free time.", phase="check"),
    ]  # fmt: skip
    slips = [
        Slip(1, read("calendars/zones.json"), "The zones are in zones.csv."),
        Slip(5, run(f"cd calendars && python3 {name}"), "The script has to run from the workspace root."),
    ]
    plain = changed(source, ("zone[1] if zone else HOME", "HOME"), ('int(rule.get("INTERVAL", 1))', "1"))
    short = changed(source, ("timedelta(minutes=LENGTH)", "timedelta(minutes=1)"))
    single = changed(source, ("        for at in starts(event):", "        for at in starts(event)[:1]:"))
    kept = changed(source, ('if at in event["EXDATE"] or gone:', "if False:"))
    marked = changed(
        source, ('if event.get("STATUS") == "CANCELLED" or event.get("TRANSP") == "TRANSPARENT":', "if False:")
    )
    flaws = [
        Flaw("only_first_occurrences", {4: rewritten(steps[4], single)}, loss="large"),
        Flaw("zones_and_intervals_ignored", {4: rewritten(steps[4], plain)}, loss="large"),
        Flaw("short_gaps_listed", {4: rewritten(steps[4], short)}, loss="small"),
        Flaw("exceptions_ignored", {4: rewritten(steps[4], kept)}, loss="large"),
        Flaw("cancelled_take_place", {4: rewritten(steps[4], marked)}, loss="large"),
        Flaw("load_forgotten", {5: run(f"python3 {name} && rm output/load.md", "Run it.")}, loss="small"),
    ]
    return plan(steps, slips, flaws, "Conflicts, free time and load are in output/.")


FAMILY = Family(
    name="calendar_conflicts",
    bench_category="Planning & Knowledge",
    settings=(
        Setting("Office and Daily Tasks", "schedule and task management"),
        Setting("Messaging and Collaboration", "team collaboration and synchronization"),
    ),
    operations=(
        "read local files and extract relevant content",
        "extract structured data from files or web content",
        "filter, sort, and rank records",
        "compute basic statistics and aggregates",
        "run scripts or command-line programs",
    ),
    difficulty=5,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("office administration", "events and hospitality", "education", "research and laboratory"),
    skill_words=("calendar", "scheduling", "meeting"),
)
