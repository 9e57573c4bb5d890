"""Family `cron_calendar`: a crontab and its maintenance windows become the runs of a week and their collisions.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

NAMES: Final = (
    "backup-full", "backup-diff", "mail-digest", "reindex-search", "rotate-logs", "sync-stock", "close-books",
    "refresh-cache", "export-orders", "check-certs", "purge-carts", "send-invoices", "build-sitemap", "pull-rates",
)  # fmt: skip
HOSTS: Final = ("db1", "db2", "web1", "batch1", "files1")
WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MINUTES_BY_DEFAULT: Final = 5


@dataclass(frozen=True)
class Line:
    """A crontab line: how it is written and what it means."""

    job: str
    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    """Offsets from the first day of the week on which it runs."""


@dataclass(frozen=True)
class Window:
    """A maintenance window."""

    name: str
    hosts: tuple[str, ...]
    start: datetime
    end: datetime
    policy: str


@dataclass(frozen=True)
class Week:
    """Everything a seed decides."""

    start: datetime
    lines: tuple[Line, ...]
    windows: tuple[Window, ...]
    jobs: dict[str, tuple[int, str]]
    """Job → minutes, host."""

    @cached_property
    def happened(self) -> tuple[dict[tuple[datetime, str], str], Counter[str], Counter[str]]:
        """Runs that take place with their state; how often each job was scheduled, and skipped."""
        runs: dict[tuple[datetime, str], str] = {}
        scheduled: Counter[str] = Counter()
        skipped: Counter[str] = Counter()
        for line in self.lines:
            host = self.jobs[line.job][1]
            for day, hour, minute in product(line.days, line.hours, line.minutes):
                moment = self.start + timedelta(days=day, hours=hour, minutes=minute)
                scheduled[line.job] += 1
                window = next((w for w in self.windows if host in w.hosts and w.start <= moment < w.end), None)
                if window is None or window.policy == "allow":
                    runs[moment, line.job] = "on_time"
                elif window.policy == "skip":
                    skipped[line.job] += 1
                else:
                    runs.setdefault((window.end, line.job), "delayed")
        return runs, scheduled, skipped

    @cached_property
    def collisions(self) -> list[tuple[str, str, datetime, str, datetime, int]]:
        """Pairs of overlapping runs, in the order asked for."""
        found = []
        for (start, job), (later, other) in combinations(sorted(self.happened[0]), 2):
            host, end = self.jobs[job][1], start + timedelta(minutes=self.jobs[job][0])
            if host == self.jobs[other][1] and later < end:
                until = min(end, later + timedelta(minutes=self.jobs[other][0]))
                found.append((host, job, start, other, later, (until - later) // timedelta(minutes=1)))
        return sorted(found, key=lambda c: (c[4], c[3], c[2], c[1]))


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    week = _week(rng)
    while not _rich(week):
        week = _week(rng)
    crontab, invalid = _crontab(rng, week)
    inputs = {"jobs/crontab": crontab, "jobs/jobs.ini": _jobs_ini(rng, week), "jobs/windows.yaml": _windows(rng, week)}
    start, end = f"{week.start:%Y-%m-%d}", f"{week.start + timedelta(days=7):%Y-%m-%d}"
    errand = "Before our maintenance week I want to see what our cron jobs will really do."
    text = told(
        __file__, opening=opening(rng, persona, errand), closing=leave_inputs(rng, "jobs/"), start=start, end=end
    )
    return Draft(text, inputs, _oracle(week, invalid), {"START": start}, _plan(rng, start))


def _week(rng: random.Random) -> Week:
    start = datetime(2026, rng.randint(1, 12), rng.randint(1, 20), tzinfo=UTC)
    names = rng.sample(NAMES, 10)
    hosts = rng.sample(HOSTS, 3)
    jobs = {
        name: (MINUTES_BY_DEFAULT if i % 3 == 2 else rng.choice((12, 20, 25, 45, 70)), hosts[i % 3 if i < 3 else 0])
        if i < 6
        else (rng.choice((10, 15, 30)), rng.choice(hosts))
        for i, name in enumerate(names)
    }
    quarter, hour, minute = rng.choice((20, 30)), rng.randint(1, 4), rng.randint(1, 50)
    jobs[names[0]] = (quarter, hosts[0])
    lines = tuple(_lines(rng, start, names, quarter, hour, minute))
    edge = timedelta(hours=hour + 1, minutes=minute)
    return Week(start, lines, tuple(_maintenance(rng, start, hosts, edge)), jobs)


def _lines(
    rng: random.Random, start: datetime, names: list[str], quarter: int, hour: int, minute: int
) -> Iterable[Line]:
    """One line or two for each job, each kind of schedule once; the runs of the first touch each other."""
    week = [start + timedelta(days=n) for n in range(7)]
    every = frozenset(range(7))

    def on(*weekdays: int) -> frozenset[int]:
        return frozenset(n for n, day in enumerate(week) if day.isoweekday() % 7 in weekdays)

    begin = rng.randint(6, 9)
    until = begin + rng.randint(1, 2)
    steps = tuple(range(0, 60, quarter))
    worked = tuple(range(begin, until + 1))
    yield Line(names[0], f"*/{quarter} {begin}-{until} * * 1-5", steps, worked, on(1, 2, 3, 4, 5))
    yield Line(names[0], f"0 {begin} * * sat,7", (0,), (begin,), on(6, 0))
    yield Line(names[1], "@daily", (0,), (0,), every)
    yield Line(names[2], "@weekly", (0,), (0,), on(0))
    late = rng.randint(5, 25)
    yield Line(names[2], f"{late}-59/30 {hour} * * *", tuple(range(late, 60, 30)), (hour,), every)
    date = rng.randrange(7)
    other = week[(date + rng.randint(2, 5)) % 7].isoweekday() % 7
    both = frozenset({date}) | on(other)
    yield Line(names[3], f"30 {hour} {week[date].day} * {WEEKDAYS[other]}", (30,), (hour,), both)
    yield Line(names[4], f"10 */6 * * mon-{WEEKDAYS[4]}", (10,), (0, 6, 12, 18), on(1, 2, 3, 4))
    away = (start.month + rng.randint(2, 8)) % 12
    yield Line(names[5], f"15 {hour} * {MONTHS[away]} *", (15,), (hour,), frozenset())
    month = MONTHS[start.month - 1]
    days = frozenset(n for n, day in enumerate(week) if day.month == start.month)
    yield Line(names[6], f"40 {hour},{hour + 12} * {month} *", (40,), (hour, hour + 12), days)
    yield Line(names[7], f"0 {begin}-{until + 3}/2 * * *", (0,), tuple(range(begin, until + 4, 2)), every)
    yield Line(names[8], f"{minute} {hour + 1} * * {WEEKDAYS[1]},3,fri", (minute,), (hour + 1,), on(1, 3, 5))
    yield Line(names[9], f"{minute} {hour + 1} * * *", (minute,), (hour + 1,), every)
    yield Line(names[9], f"{minute} {hour + 1},{hour + 3} * * 0", (minute,), (hour + 1, hour + 3), on(0))


def _maintenance(rng: random.Random, start: datetime, hosts: list[str], edge: timedelta) -> Iterable[Window]:
    """Four windows on different days, so that no run is touched by two; one ends at a time of day when a job starts."""
    days = rng.sample(range(6), 4)
    kinds = ("skip", "delay", "delay", "allow")
    words = ("storage", "network", "kernel", "audit")
    for day, policy, word in zip(days, kinds, words, strict=True):
        first = start + timedelta(days=day, hours=rng.choice((0, 1, 2)), minutes=rng.choice((0, 10, 30)))
        if policy == "delay" and word == "kernel":
            first = start + timedelta(days=day, hours=7, minutes=rng.choice((0, 10, 20)))
        meant = tuple(hosts) if policy == "skip" else tuple(rng.sample(hosts, rng.choice((1, 2))))
        if word == "kernel":
            meant = (hosts[0],)
        last = first + timedelta(minutes=rng.choice((90, 120, 150, 190)))
        if policy == "skip":
            last = start + timedelta(days=day) + edge
            first = last - timedelta(minutes=rng.choice((60, 75, 90)))
        yield Window(word, meant, first, last, policy)


def _rich(week: Week) -> bool:
    """Whether the week shows all that the rules speak of, and the windows leave each other alone."""
    runs, scheduled, skipped = week.happened
    ran = Counter(job for _, job in runs)
    merged = sum(scheduled[job] - skipped[job] - ran[job] for job in week.jobs)
    edge = any(w.end == moment for w in week.windows if w.policy == "skip" for moment, _ in runs)
    return (
        sum(state == "delayed" for state in runs.values()) >= 2
        and sum(skipped.values()) >= 2
        and merged >= 3
        and edge
        and 8 <= len(week.collisions) <= 60
    )


def _crontab(rng: random.Random, week: Week) -> tuple[str, list[int]]:
    """The crontab, and the numbers of its invalid lines."""
    lines = [
        f"{line.text}  /opt/jobs/run {line.job}{rng.choice(('', ' --quiet', ' --retry 2'))}" for line in week.lines
    ]
    lines = [line.replace(" ", "\t", 1) if rng.random() < 0.3 and line[0] != "@" else line for line in lines]
    lines += [f"#{line}" for line in rng.sample(lines, 2)]
    lines += ["# night jobs", "", "# see the runbook before you move anything"]
    job = rng.choice(sorted(week.jobs))
    wrong = [f"0 24 * * *  /opt/jobs/run {job}", f"{rng.choice((60, 75))} 3 * * 1  /opt/jobs/run {job} --quiet"]
    wrong.append(f"5 4 * * {rng.choice(('8', '1-9'))}  /opt/jobs/run {job}")
    wrong = rng.sample(wrong, 2)
    lines += wrong
    rng.shuffle(lines)
    lines = ["SHELL=/bin/sh", "MAILTO=ops@localhost", "", *lines]
    return "\n".join(lines) + "\n", [n for n, line in enumerate(lines, 1) if line in wrong]


def _jobs_ini(rng: random.Random, week: Week) -> str:
    usual = Counter(host for _, host in week.jobs.values()).most_common(1)[0][0]
    lines = ["[DEFAULT]", f"minutes = {MINUTES_BY_DEFAULT}", f"host = {usual}", ""]
    for job in rng.sample(sorted(week.jobs), len(week.jobs)):
        minutes, host = week.jobs[job]
        lines.append(f"[{job}]")
        lines += [] if minutes == MINUTES_BY_DEFAULT else [f"minutes = {minutes}"]
        lines += ["", ""] if host == usual else [f"host = {host}", ""]
    return "\n".join(lines)


def _windows(rng: random.Random, week: Week) -> str:
    lines = ["# UTC"]
    everywhere = {host for _, host in week.jobs.values()}
    for window in rng.sample(week.windows, len(week.windows)):
        hosts = "all" if set(window.hosts) >= everywhere else ", ".join(window.hosts)
        fields = [f"  host: {hosts}", f'  start: "{window.start:%Y-%m-%d %H:%M}"']
        fields += [f"  end: {window.end:%Y-%m-%d %H:%M}", f"  policy: {window.policy}"]
        lines += [f"{window.name}:", *fields]
    return "\n".join(lines) + "\n"


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


def _oracle(week: Week, invalid: list[int]) -> dict[str, str]:
    runs, scheduled, skipped = week.happened
    collisions = week.collisions
    rows, jobs = [], {}
    for (moment, job), state in sorted(runs.items()):
        minutes, host = week.jobs[job]
        rows.append(f"{job},{host},{_shown(moment)},{_shown(moment + timedelta(minutes=minutes))},{state}\n")
    for job in sorted(week.jobs):
        starts = sorted(moment for moment, other in runs if other == job)
        jobs[job] = {
            "scheduled": scheduled[job],
            "skipped": skipped[job],
            "merged": scheduled[job] - skipped[job] - len(starts),
            "ran": len(starts),
            "busy_minutes": len(starts) * week.jobs[job][0],
            "first": _shown(starts[0]) if starts else None,
            "last": _shown(starts[-1]) if starts else None,
        }
    listed = "".join(f"{h},{j},{_shown(a)},{k},{_shown(b)},{n}\n" for h, j, a, k, b, n in collisions)
    per_host = Counter(week.jobs[job][1] for _, job in runs)
    crashes = Counter(host for host, *_ in collisions)
    text = [f"# Week from {week.start:%Y-%m-%d}", "", f"Runs: {len(runs)}", f"Collisions: {len(collisions)}"]
    text += [f"Invalid lines: {', '.join(map(str, invalid))}", ""]
    text += ["| Host | Runs | Busy minutes | Collisions |", "| --- | --- | --- | --- |"]
    for host in sorted(per_host, key=lambda h: (-crashes[h], h)):
        busy = sum(week.jobs[job][0] for _, job in runs if week.jobs[job][1] == host)
        text.append(f"| {host} | {per_host[host]} | {busy} | {crashes[host]} |")
    return {
        "output/runs.csv": f"job,host,start,end,state\n{''.join(rows)}",
        "output/jobs.json": json.dumps(jobs, indent=2) + "\n",
        "output/collisions.csv": f"host,first_job,first_start,second_job,second_start,minutes\n{listed}",
        "output/report.md": "\n".join(text) + "\n",
    }


def _plan(rng: random.Random, start: str) -> Plan:
    name = rng.choice(("week.py", "scripts/cron_week.py", "work/calendar_of_jobs.py"))
    source = script(__file__, START=start)
    steps = [
        look(rng.choice(("ls -l jobs", "find . -type f", "wc -l jobs/*"))),
        run("cat -n jobs/crontab", "The lines with their numbers, and what belongs to them.", phase="read"),
        read("jobs/jobs.ini", beside=True),
        read("jobs/windows.yaml", beside=True),
        write(name, source, "I'll match each minute of the week with each line."),
        run(f"python3 {name}", "Run it."),
        verify("head -20 output/runs.csv; grep -c . output/runs.csv; cat output/report.md", "Is that plausible?"),
        verify("grep delayed output/runs.csv; head -5 output/collisions.csv", "Delays, collisions.", beside=True),
        read("output/jobs.json", "scheduled must be skipped + merged + ran.", phase="check"),
    ]  # fmt: skip
    slips = [
        Slip(1, read("jobs/crontab.txt"), "It is just called crontab."),
        Slip(5, run(f"cd jobs && python3 {name}"), "From the main folder, then."),
    ]
    both = changed(source, ("by_date or by_weekday", "by_date and by_weekday"))
    closed = changed(source, ('< window["end"]', '<= window["end"]'))
    unaware = changed(source, ("window = touched(host, moment)", "window = None"))
    touching = changed(source, ("if later >= end:", "if later > end:"))
    flaws = [
        Flaw("windows_ignored", {4: rewritten(steps[4], unaware)}, loss="large"),
        Flaw("days_must_fit_both", {4: rewritten(steps[4], both)}, loss="large"),
        Flaw("end_of_window_included", {4: rewritten(steps[4], closed)}, loss="large"),
        Flaw("touching_runs_collide", {4: rewritten(steps[4], touching)}, loss="small"),
        Flaw("report_forgotten", {5: run(f"python3 {name} && rm output/report.md", "Run it.")}, loss="small"),
    ]
    closing = "The runs of the week, the jobs, the collisions and the report are in output/."
    return plan(steps, slips, flaws, closing)


FAMILY = Family(
    name="cron_calendar",
    bench_category="Systems & Automation",
    settings=(Setting("Automation and Workflows", "scheduled task execution"),),
    operations=(
        "inspect code or configuration files",
        "extract structured data from files or web content",
        "filter, sort, and rank records",
        "compute basic statistics and aggregates",
        "compose updates, reports, or status summaries",
    ),
    difficulty=5,
    folder=Path(__file__).parent,
    draft=draft,
    protocol="reward_booleans",
    domains=("it operations", "software engineering", "media and publishing"),
    skill_words=("cron", "schedule", "automation"),
)
