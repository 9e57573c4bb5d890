"""Family `incident_timeline`: three logs with three clocks become a timeline, error rates and a status note.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, edit, look, plan, read, rewritten, run, script, verify, write

FORM: Final = "%Y-%m-%dT%H:%M:%SZ"
PATHS: Final = ("/api/orders", "/api/cart", "/api/login", "/api/search", "/health", "/api/stock")
TROUBLE: Final = {
    "gateway": (("WARN", "upstream slow"), ("WARN", "retry scheduled"), ("ERROR", "upstream timeout")),
    "worker": (
        ("WARN", "queue too long"),
        ("ERROR", "job failed, will retry"),
        ("ERROR", "lost lease on job"),
    ),
    "db": (("WARN", "slow query"), ("WARN", "connection pool at 90 percent"), ("ERROR", "deadlock detected")),
}
CALM: Final = {"worker": ("job finished", "job started", "heartbeat"), "db": ("checkpoint complete", "autovacuum done")}


@dataclass(frozen=True)
class Entry:
    """One log entry as it is meant."""

    moment: datetime
    """UTC, with milliseconds."""
    service: str
    level: str
    message: str
    status: int | None = None


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    day = datetime(2026, rng.randint(1, 9), rng.randint(1, 28), rng.randint(11, 19), tzinfo=UTC)
    minutes, offset = rng.choice((5, 10)), rng.choice((60, 120, -300, 330))
    bad = sorted(rng.sample(range(1, 60 // minutes - 1), 2 if minutes == 10 else 3))
    entries = _entries(rng, day, minutes, bad)
    limit, least = rng.choice((12.5, 15.0, 20.0)), 8
    first, last = (day + timedelta(minutes=m) for m in (rng.randint(2, 6), rng.randint(52, 57)))
    inputs = {f"logs/{name}.log": _log(rng, name, entries, offset) for name in TROUBLE}
    inputs["config/alerts.ini"] = (
        f"; paging rules\n[window]\nminutes = {minutes}\n\n"
        f"[threshold]\nerror_percent = {limit}\nmin_requests = {least}\n"
    )
    errand = f"We had an outage on the evening of {day:%d %B %Y} and I owe the team a timeline with numbers."
    start, end = first.strftime(FORM), last.strftime(FORM)
    text = told(
        __file__, opening=opening(rng, persona, errand), start=start, end=end, closing=leave_inputs(rng, "logs/")
    )
    return Draft(
        text,
        inputs,
        _oracle(entries, minutes, Fraction(limit), least, first, last),
        {"FIRST": start, "LAST": end},
        _plan(rng, start, end),
    )


def _entries(rng: random.Random, day: datetime, minutes: int, bad: list[int]) -> list[Entry]:
    """An hour of traffic with some bad windows; one quiet window has a high rate but too few requests."""
    entries = []
    quiet = next(w for w in range(60 // minutes) if w not in bad)

    def at(window: int) -> datetime:
        return day + timedelta(minutes=window * minutes, milliseconds=rng.randint(0, minutes * 60_000 - 1))

    for window in range(60 // minutes):
        if window == quiet:
            codes = [200] * rng.randint(2, 4) + [503] * 2
        elif window in bad:
            total = rng.randint(10, 14)
            failed = rng.randint(total // 3, total // 2 + 1)
            codes = [200] * (total - failed) + [rng.choice((500, 502, 503)) for _ in range(failed)]
        else:
            codes = [200] * rng.randint(9, 12) + [rng.choice((404, 401))] * rng.randint(0, 2)
        for code in codes:
            level = "ERROR" if code >= 500 else "INFO"
            entries.append(Entry(at(window), "gateway", level, "upstream failed" if code >= 500 else "served", code))
        for service, kinds in TROUBLE.items():
            for _ in range(rng.randint(1, 3) if window in bad else rng.choice((0, 0, 1))):
                entries.append(Entry(at(window), service, *rng.choice(kinds)))
        for service, messages in CALM.items():
            entries += [Entry(at(window), service, "INFO", rng.choice(messages)) for _ in range(rng.randint(1, 2))]
    return sorted(entries, key=lambda e: (e.moment, e.service, e.message))


def _log(rng: random.Random, service: str, entries: list[Entry], offset: int) -> str:
    """The service's entries in its own clock, with repeats, tracebacks and a cut line."""
    lines: list[str] = []
    for number, entry in enumerate(e for e in entries if e.service == service):
        line = _line(rng, entry, number, offset)
        lines.append(line)
        if entry.level == "ERROR" and service == "worker" and rng.random() < 0.6:
            lines += [
                "    Traceback (most recent call last):",
                f'      File "jobs.py", line {rng.randint(20, 400)}, in run',
            ]
        if rng.random() < 0.08:
            lines.append(line)
    solid = [i for i, line in enumerate(lines) if not line.startswith(" ")]
    repeated = lines[rng.choice(solid[:-3])]
    lines.insert(solid[-2], repeated)
    cut = _line(rng, next(e for e in entries if e.service == service and e.level != "INFO"), 9999, offset)
    lines.insert(rng.choice(solid[1:]), cut[: rng.randint(30, len(cut) - 6)])
    return "\n".join(lines) + "\n"


def _line(rng: random.Random, entry: Entry, number: int, offset: int) -> str:
    moment = entry.moment
    if entry.service == "gateway":
        head = f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z {entry.level} gateway req={number:04x}"
        if entry.status is not None:
            head += f" path={rng.choice(PATHS)} status={entry.status} ms={rng.randint(4, 2900)}"
    elif entry.service == "worker":
        local = moment.astimezone(timezone(timedelta(minutes=offset)))
        head = f"[{local:%Y-%m-%d %H:%M:%S %z}] {entry.level} worker job={number + 400}"
    else:
        head = f"{int(moment.timestamp())}.{moment.microsecond // 1000:03d} {entry.level} db pid={3000 + number}"
    return f'{head} msg="{entry.message}"'


def _oracle(
    entries: list[Entry], minutes: int, limit: Fraction, least: int, first: datetime, last: datetime
) -> dict[str, str]:
    """Outputs from the entries as they are meant."""
    told_of = [
        (e.moment.strftime(FORM), e.service, e.message, e.level)
        for e in entries
        if e.level != "INFO" and first <= e.moment.replace(microsecond=0) <= last
    ]
    told_of.sort()
    rows = ["time_utc,service,level,message"]
    rows += [f'{t},{s},{level},"{m}"' if "," in m else f"{t},{s},{level},{m}" for t, s, m, level in told_of]
    windows: dict[datetime, list[int]] = {}
    for entry in entries:
        if entry.status is not None:
            length = minutes * 60
            start = datetime.fromtimestamp(int(entry.moment.timestamp()) // length * length, UTC)
            windows.setdefault(start, []).append(entry.status)
    listed, breaches = [], []
    for start, codes in sorted(windows.items()):
        errors = sum(code >= 500 for code in codes)
        percent = Fraction(100 * errors, len(codes))
        breach = percent >= limit and len(codes) >= least
        if breach:
            breaches.append((start, percent))
        listed.append(
            {"start": start.strftime(FORM), "requests": len(codes), "errors": errors,
             "error_percent": round(float(percent), 2), "breach": breach}
        )  # fmt: skip
    error = next(row for row in told_of if row[3] == "ERROR")
    summary = ["# Incident summary", "", f"- Start: {breaches[0][0].strftime(FORM)}"]
    summary += [f"- End: {(breaches[-1][0] + timedelta(minutes=minutes)).strftime(FORM)}"]
    summary += [
        f"- Peak error rate: {float(max(p for _, p in breaches)):.2f} %",
        f"- First error: {error[0]} {error[1]}",
    ]
    summary += ["", "| Service | WARN | ERROR |", "| --- | --- | --- |"]
    for service in sorted(TROUBLE):
        counts = [sum(s == service and level == wanted for _, s, _, level in told_of) for wanted in ("WARN", "ERROR")]
        summary.append(f"| {service} | {counts[0]} | {counts[1]} |")
    return {
        "output/timeline.csv": "\n".join(rows) + "\n",
        "output/windows.json": json.dumps(listed, indent=2) + "\n",
        "output/incident.md": "\n".join(summary) + "\n",
    }


def _plan(rng: random.Random, start: str, end: str) -> Plan:
    name = rng.choice(("scripts/timeline.py", "scripts/incident.py", "build_timeline.py"))
    source = script(__file__, START=start, END=end)
    steps = [
        look("ls -l logs config && wc -l logs/*.log", "First the lay of the land."),
        read("config/alerts.ini", "The thresholds."),
        run("head -4 logs/gateway.log; echo; head -4 logs/worker.log; echo; head -4 logs/db.log",
            "How does each log write its times?", phase="explore"),
        run("grep -nvE '^[0-9\\[]' logs/*.log | head; for f in logs/*.log; do sort $f | uniq -d | wc -l; done",
            "What does not look like an entry, and how many exact repeats are there?", phase="explore"),
        read("logs/worker.log", "The worker's log has an offset; I'll read it in full."),
        write(name, source, "Now one script for all three products."),
        run(f"python3 {name}", "Run it."),
        verify("cat output/incident.md; head -6 output/timeline.csv", "Look at the result."),
        verify("tail -n +2 output/timeline.csv | cut -d, -f1 | sort -c;"
               " cut -d, -f2,3 output/timeline.csv | sort | uniq -c",
               "The order and the counts should agree with the table.", beside=True),
        verify("python3 -c \"import json; w=json.load(open('output/windows.json'));"
               " print(sum(x['requests'] for x in w), [x['start'] for x in w if x['breach']])\";"
               " grep -c status= logs/gateway.log",
               "The windows must add up to the requests in the gateway log, up to repeats and the cut line."),
    ]  # fmt: skip
    slips = [
        Slip(2, read("logs/gateway.txt"), "Wrong name; the logs end in .log."),
        Slip(6, run("python3 tools/timeline.py"), f"I saved the script as {name}."),
        Slip(7, edit(name, [("ZONE = 'UTC'", "ZONE = 'utc'")]), "There is no such line; no edit is needed."),
    ]
    local = changed(source, ('"%Y-%m-%d %H:%M:%S %z").astimezone(timezone.utc)', '"%Y-%m-%d %H:%M:%S %z")'))
    no_minimum = changed(source, ("percent >= limit and requests[window] >= least", "percent >= limit"))
    careless = changed(
        local,
        ("if not match or line in seen:", "if not match:"),
        ("percent >= limit and requests[window] >= least", "percent >= limit"),
    )
    only_gateway = changed(source, ('level in ("WARN", "ERROR") and', 'level == "ERROR" and'))
    flaws = [
        Flaw("offset_ignored", {5: rewritten(steps[5], local)}, loss="small"),
        Flaw("rules_forgotten", {5: rewritten(steps[5], careless)}, loss="large"),
        Flaw("too_few_requests_counted", {5: rewritten(steps[5], no_minimum)}, loss="small"),
        Flaw("warnings_left_out", {5: rewritten(steps[5], only_gateway)}, loss="small"),
        Flaw("summary_missing", {6: run(f"python3 {name} && rm output/incident.md output/windows.json", "Run it.")}),
    ]
    closing = "The timeline, the error windows and the incident summary are in output/."
    return plan(steps, slips, flaws, closing)


FAMILY = Family(
    name="incident_timeline",
    bench_category="Systems & Automation",
    settings=(Setting("Systems and Infrastructure", "incident response and reliability"),),
    operations=(
        "inspect files and directories",
        "extract structured data from files or web content",
        "analyze command output or error messages",
        "compute basic statistics and aggregates",
        "compose updates, reports, or status summaries",
    ),
    difficulty=4,
    folder=Path(__file__).parent,
    draft=draft,
    protocol="reward_booleans",
    domains=("it operations", "software engineering"),
    skill_words=("incident", "logs", "debugging", "audit"),
)
