"""Family `ab_test_readout`: an event log becomes the figures and the decision of an experiment, after exclusions.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

EXPERIMENTS: Final = {
    "Checkout button": ("plain", "green", "wide"),
    "Delivery promise": ("none", "two-days", "date"),
    "Welcome mail": ("short", "story"),
    "Search order": ("price", "rating", "mixed"),
    "Basket reminder": ("off", "hourly"),
}
AGENTS: Final = ("Firefox 131", "Safari 18", "Chrome 129 Mobile", "Edge 130")
BOTS: Final = ("SiteBot/2.1", "price-CRAWLER", "uptimebot", "Chrome 99 (compatible; IndexBot)")


@dataclass
class Visitor:
    """Somebody and what they are."""

    name: str
    kind: str
    """member, internal, bots, crossed or none."""
    variant: str = ""
    since: datetime | None = None
    amounts: list[int] = field(default_factory=list)
    """Cents of each order that counts, after refunds."""
    late: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Frame:
    """The experiment."""

    name: str
    variants: tuple[str, ...]
    begins: datetime
    ends: datetime
    days: int

    def inside(self, rng: random.Random) -> datetime:
        """A moment of the experiment."""
        return self.begins + timedelta(seconds=rng.randint(60, int((self.ends - self.begins).total_seconds()) - 60))


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    name = rng.choice(sorted(EXPERIMENTS))
    begins = datetime(2026, rng.randint(1, 10), rng.randint(1, 15), rng.choice((0, 6, 22)), tzinfo=UTC)
    frame = Frame(name, EXPERIMENTS[name], begins, begins + timedelta(days=rng.randint(5, 8)), rng.choice((3, 5, 7)))
    uplift, least = rng.choice((Fraction(2), Fraction(5), Fraction(15, 2))), rng.choice((28, 32))
    visitors = _visitors(rng, frame)
    while not _clear(frame, visitors, uplift):
        visitors = _visitors(rng, frame)
    lines, broken, repeated = _lines(rng, visitors)
    experiment = {
        "name": name,
        "variants": list(frame.variants),
        "begins": _at(begins),
        "ends": _at(frame.ends),
        "order_days": frame.days,
    }
    ours = [v.name for v in visitors if v.kind == "internal"] + ["desk-1", "qa-robin"]
    inputs = {
        "data/events.jsonl": "\n".join(lines) + "\n",
        "data/experiment.json": json.dumps(experiment, indent=2) + "\n",
        "data/internal.txt": "\n".join(sorted(ours)) + "\n",
    }
    errand = f'The experiment "{name}" is over and I have to say what we do.'
    text = told(
        __file__, opening=opening(rng, persona, errand), closing=leave_inputs(rng, "data/"), days=frame.days, name=name,
        uplift=f"{float(uplift):g}", least=least,
    )  # fmt: skip
    counts = {"broken_lines": broken, "repeated_lines": repeated}
    oracle = _oracle(frame, visitors, counts, uplift, least)
    constants = {"UPLIFT": float(uplift), "LEAST": least}
    return Draft(text, inputs, oracle, constants, _plan(rng, constants))


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _visitors(rng: random.Random, frame: Frame) -> list[Visitor]:
    """Everybody, with their events."""
    names = (f"v-{number}" for number in rng.sample(range(1000, 9999), 220))
    found = [Visitor(next(names), "member", v) for v in frame.variants for _ in range(rng.randint(27, 40))]
    odd = ["internal"] * 4 + ["bots"] * 5 + ["crossed"] * 5 + ["none"] * 6
    found += [Visitor(next(names), kind, rng.choice(frame.variants)) for kind in odd]
    rate = {variant: rng.choice((0.2, 0.3, 0.4)) for variant in frame.variants}
    for visitor in found:
        _live(rng, frame, visitor, rate[visitor.variant])
    clerk = Visitor("desk-1", "internal")
    clerk.events = [
        _refund(rng, visitor, "desk-1") for visitor in found if visitor.kind == "member" and rng.random() < 0.05
    ]
    clerk.events = [event for event in clerk.events if event]
    return [*found, *([clerk] if clerk.events else [])]


def _live(rng: random.Random, frame: Frame, visitor: Visitor, rate: float) -> None:
    """Exposures and orders of a visitor."""
    others = [v for v in frame.variants if v != visitor.variant]
    at = frame.inside(rng)
    shown = [(at, visitor.variant)] if visitor.kind != "none" else []
    if rng.random() < 0.3 and shown:
        shown.append(
            (min(at + timedelta(hours=rng.randint(1, 60)), frame.ends - timedelta(seconds=1)), visitor.variant)
        )
    if visitor.kind == "crossed":
        shown.append((frame.inside(rng), rng.choice(others)))
    if rng.random() < 0.12 or visitor.kind == "none":
        outside = rng.choice((frame.begins - timedelta(minutes=rng.randint(1, 900)), frame.ends))
        shown.append(rng.choice(((outside, rng.choice(others)), (frame.inside(rng), "holdback"))))
    visitor.since = at
    agent = rng.choice(AGENTS)
    visitor.events = [{"type": "exposure", "at": moment, "variant": v, "agent": agent} for moment, v in shown]
    if visitor.kind == "bots":
        rng.choice(visitor.events)["agent"] = rng.choice(BOTS)
    window = frame.days * 86400
    for _ in range(rng.choice((1, 1, 1, 2)) if rng.random() < rate + 0.3 * (visitor.kind == "none") else 0):
        _order(rng, visitor, at + timedelta(seconds=rng.choice((rng.randint(60, window - 1), window - 1))), "good")
    if rng.random() < 0.1:
        _order(rng, visitor, at - timedelta(minutes=rng.randint(1, 600)), "early")
    if rng.random() < 0.1:
        _order(rng, visitor, at + timedelta(seconds=rng.choice((window, window + rng.randint(1, 90000)))), "late")
    if rng.random() < 0.07:
        _order(rng, visitor, at + timedelta(minutes=rng.randint(1, 600)), "USD")


def _order(rng: random.Random, visitor: Visitor, at: datetime, kind: str) -> None:
    """An order, and perhaps refunds of it."""
    cents = rng.randint(900, 15000)
    number = f"o-{rng.getrandbits(32):08x}"
    currency = "USD" if kind == "USD" else "EUR"
    amount = str(cents) if rng.random() < 0.2 else cents
    visitor.events.append({"type": "order", "at": at, "order": number, "amount": amount, "currency": currency})
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        off = rng.choice((cents, cents // 2, rng.randint(100, 3000)))
        later = at + timedelta(hours=rng.randint(1, 400))
        visitor.events.append({"type": "refund", "at": later, "order": number, "amount": off})
        cents = max(0, cents - off)
    if kind == "good" and visitor.kind == "member":
        visitor.amounts.append(cents)
    if kind == "late" and visitor.kind == "member":
        visitor.late += 1


def _refund(rng: random.Random, visitor: Visitor, clerk: str) -> dict[str, Any]:
    """A refund that our own desk enters, of the visitor's only good order; empty if there is none."""
    good = [e for e in visitor.events if e["type"] == "order"]
    if len(good) != 1 or len(visitor.amounts) != 1:
        return {}
    off = rng.randint(100, 900)
    visitor.amounts[0] = max(0, visitor.amounts[0] - off)
    return {"type": "refund", "at": good[0]["at"] + timedelta(days=9), "order": good[0]["order"], "amount": off}


def _lines(rng: random.Random, visitors: list[Visitor]) -> tuple[list[str], int, int]:
    """Lines of the log, roughly by time; how many of them are broken or repeat an id."""
    events = sorted(
        (
            (event["at"] + timedelta(minutes=rng.randint(0, 300)), visitor.name, event)
            for visitor in visitors
            for event in visitor.events
        ),
        key=lambda item: (item[0], item[1]),
    )
    ids = [f"e{number:06}" for number in rng.sample(range(999_999), len(events) + 4)]
    lines = [_line(rng, ident, name, event) for ident, (_, name, event) in zip(ids, events, strict=False)]
    repeated = 0
    for at in sorted(rng.sample(range(len(lines)), 7), reverse=True):
        _, name, event = events[at]
        again = dict(event)
        if "amount" in again:
            again["amount"] = rng.randint(100, 9000)
        elif rng.random() < 0.5:
            again["at"] = event["at"] + timedelta(minutes=rng.randint(1, 50))
        lines.insert(rng.randint(at + 1, len(lines)), _line(rng, ids[at], name, again))
        repeated += 1
    for ident in ids[-4:]:
        whole = _line(rng, ident, rng.choice(visitors).name, rng.choice(events)[2])
        lines.insert(rng.randint(0, len(lines)), whole[: rng.randint(20, len(whole) - 2)])
    return lines, 4, repeated


def _line(rng: random.Random, ident: str, visitor: str, event: dict[str, Any]) -> str:
    at: datetime = event["at"]
    offset = rng.choice((0, 0, 2, -5))
    shown = at.astimezone(timezone(timedelta(hours=offset))).isoformat() if offset else _at(at)
    return json.dumps({"id": ident, "visitor": visitor, **event, "at": shown})


# --- answer -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """Figures of a variant."""

    size: int
    buyers: int
    amounts: tuple[int, ...]

    @property
    def conversion(self) -> Fraction:
        """Buyers in percent."""
        return Fraction(100 * self.buyers, self.size)

    @property
    def each(self) -> Fraction:
        """Euros a visitor."""
        return Fraction(sum(self.amounts), 100 * self.size)


def _results(frame: Frame, visitors: list[Visitor]) -> dict[str, Result]:
    found = {}
    for variant in frame.variants:
        mine = [v for v in visitors if v.kind == "member" and v.variant == variant]
        amounts = tuple(amount for v in mine for amount in v.amounts)
        found[variant] = Result(len(mine), sum(bool(v.amounts) for v in mine), amounts)
    return found


def _clear(frame: Frame, visitors: list[Visitor], uplift: Fraction) -> bool:
    """Whether nothing is a tie or so near to one that rounding would decide."""
    results = list(_results(frame, visitors).values())
    conversions, each = sorted(r.conversion for r in results), sorted(r.each for r in results)
    gain = conversions[-1] - results[0].conversion
    apart = conversions[-1] - conversions[-2] > Fraction(1, 20) and each[-1] - each[-2] > Fraction(1, 50)
    return apart and abs(gain - uplift) > Fraction(1, 20) and any(v.late for v in visitors)


def _oracle(
    frame: Frame, visitors: list[Visitor], counts: dict[str, int], uplift: Fraction, least: int
) -> dict[str, str]:
    """Outputs from the visitors as they are meant."""
    results = _results(frame, visitors)
    rows = "".join(
        f"{v},{r.size},{r.buyers},{float(r.conversion):.2f},"
        f"{len(r.amounts)},{sum(r.amounts) / 100:.2f},{float(r.each):.3f}\n"
        for v, r in results.items()
    )
    kinds = Counter(visitor.kind for visitor in visitors)
    out = {kind: kinds[kind] for kind in ("internal", "bots", "crossed")}
    exclusions = {**counts, **out, "late_orders": sum(visitor.late for visitor in visitors)}
    control = frame.variants[0]
    best, richest = (max(results, key=lambda v: getattr(results[v], key)) for key in ("conversion", "each"))
    gain = results[best].conversion - results[control].conversion
    ship = gain >= uplift and best == richest and all(r.size >= least for r in results.values())
    text = [f"# {frame.name}", "", f"Best by conversion: {best}", f"Best by revenue per visitor: {richest}"]
    text += [f"Uplift: {float(gain):.2f}", f"Decision: {f'ship {best}' if ship else f'keep {control}'}", ""]
    text += ["## By day", "", f"| Day | {' | '.join(frame.variants)} |", "| --- |" + " --- |" * len(frame.variants)]
    starts = Counter((f"{v.since:%Y-%m-%d}", v.variant) for v in visitors if v.kind == "member")
    for day in sorted({day for day, _ in starts}):
        text.append(f"| {day} | {' | '.join(str(starts[day, v]) for v in frame.variants)} |")
    return {
        "output/variants.csv": f"variant,visitors,buyers,conversion,orders,revenue,revenue_per_visitor\n{rows}",
        "output/exclusions.json": json.dumps(exclusions, indent=2) + "\n",
        "output/readout.md": "\n".join(text) + "\n",
    }


def _plan(rng: random.Random, constants: dict[str, Any]) -> Plan:
    name = rng.choice(("readout.py", "scripts/readout.py", "work/experiment.py"))
    source = script(__file__, **constants)
    steps = [
        look(rng.choice(("ls -l data", "wc -l data/*"))),
        read("data/experiment.json", "The experiment first, then a look at the events."),
        run("head -8 data/events.jsonl; cat data/internal.txt", phase="explore", beside=True),
        run("grep -oE '\"(type|variant|currency|agent)\": \"[^\"]*\"'"
            " data/events.jsonl | sort | uniq -c; grep -vc '}$' data/events.jsonl",
            "Which values are there, and how many lines are broken?", phase="explore"),
        write(name, source, "All exclusions before any figure, in the order of the rules."),
        run(f"python3 {name}", "Run it."),
        verify("cat output/variants.csv output/exclusions.json", "Do sizes and exclusions look right?"),
        read("output/readout.md", "And the decision.", phase="check"),
    ]  # fmt: skip
    slips = [
        Slip(1, read("data/experiment.yaml"), "It is experiment.json."),
        Slip(5, run(f"cd data && python3 ../{name}"), "The script reads data/ from the main folder."),
    ]
    kept = changed(source, ("- internal\n", "- everybody\n"), ("internal = everybody & ours", "internal = set()"))
    gross = changed(source, ('max(0, int(event["amount"]) - refunds[event["order"]])', 'int(event["amount"])'))
    after = changed(source, ('if event["at"] >= since + window:', 'if event["at"] >= ends:'))
    twice = changed(source, ("        repeated += 1\n        continue", "        repeated += 1"))
    flaws = [
        Flaw("bots_and_staff_kept", {4: rewritten(steps[4], kept)}, loss="large"),
        Flaw("refunds_ignored", {4: rewritten(steps[4], gross)}, loss="small"),
        Flaw("repeated_lines_counted_no_readout", {4: rewritten(steps[4], twice),
             5: run(f"python3 {name} && rm output/readout.md output/exclusions.json", "Run it.")}, loss="large"),
        Flaw("orders_until_the_end_only", {4: rewritten(steps[4], after)}, loss="large"),
        Flaw("readout_forgotten", {5: run(f"python3 {name} && rm output/readout.md", "Run it.")}, loss="small"),
    ]  # fmt: skip
    return plan(steps, slips, flaws, "Figures, exclusions and the decision are in output/.")


FAMILY = Family(
    name="ab_test_readout",
    bench_category="Analysis & Reasoning",
    settings=(
        Setting("Analysis and Decision Support", "data analysis and calculation"),
        Setting("Information Retrieval and Collection", "research and information synthesis"),
    ),
    operations=(
        "read local files and extract relevant content",
        "filter, sort, and rank records",
        "compute basic statistics and aggregates",
        "compose updates, reports, or status summaries",
        "run scripts or command-line programs",
    ),
    difficulty=4,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("retail and commerce", "media and publishing", "software engineering"),
    skill_words=("analytics", "experiment", "statistics"),
)
