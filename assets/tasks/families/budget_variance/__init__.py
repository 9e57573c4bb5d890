"""Family `budget_variance`: bookings of two systems against a plan, across reorganised cost centres.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

ACCOUNTS: Final = {
    "4000": ("Sales of goods", "revenue"), "4100": ("Services", "revenue"), "6010": ("Wages", "cost"),
    "6200": ("Freight", "cost"), "6310": ("Rent", "cost"), "6450": ("Travel", "cost"), "6800": ("Licences", "cost"),
}  # fmt: skip
SHARES: Final = ((60, 40), (70, 30), (55, 45), (25, 75))
TEXTS: Final = ("monthly run", "correction", "see contract", "partial delivery", "accrual", "card statement")


@dataclass(frozen=True)
class Booking:
    """A line of the ledger as it is meant; cents, in the ledger's sign."""

    system: str
    doc: int
    line: int
    posted: date
    centre: str
    account: str
    cents: int
    issue: str = ""
    counts: bool = True


@dataclass(frozen=True)
class Books:
    """Everything a seed decides."""

    until: date
    quarter: int
    amount: int
    percent: int
    plan: dict[tuple[str, str], int]
    """(centre, account) → whole units a year."""
    phasing: dict[str, tuple[int, int, int, int]]
    reorg: tuple[tuple[date, str, str, int], ...]
    bookings: tuple[Booking, ...]

    @cached_property
    def successors(self) -> dict[str, dict[str, Fraction]]:
        """Centre → today's centres with their shares; reorganisations are undone from the last to the first."""
        found = {centre: {centre: Fraction(1)} for _, _, centre, _ in self.reorg} | {
            centre: {centre: Fraction(1)} for centre, _ in self.plan
        }
        for old in sorted({row[1] for row in self.reorg}, key=lambda o: -self.dissolved[o].toordinal()):
            parts: dict[str, Fraction] = defaultdict(Fraction)
            for _, centre, new, percent in self.reorg:
                if centre == old:
                    for today, share in found[new].items():
                        parts[today] += share * Fraction(percent, 100)
            found[old] = dict(parts)
        return found

    @property
    def dissolved(self) -> dict[str, date]:
        """Day on which each old centre was."""
        return {old: effective for effective, old, _, _ in self.reorg}

    @cached_property
    def rows(self) -> dict[tuple[str, str], tuple[Fraction, Fraction, Fraction, str]]:
        """Plan, actual, variance and status of each centre of today and account."""
        actual: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
        for booking in self.bookings:
            if booking.counts:
                for centre, part in self.parts(booking).items():
                    actual[centre, booking.account] += part
        found = {}
        for key in sorted({*actual, *self.plan}):
            percent = sum(self.phasing[key[1]][: self.quarter])
            planned = Fraction(self.plan.get(key, 0) * percent, 100)
            variance = actual[key] - planned if ACCOUNTS[key[1]][1] == "revenue" else planned - actual[key]
            steep = -variance > planned * self.percent / 100
            words = ("ok", "watch", "critical")
            found[key] = (planned, actual[key], variance, words[(-variance > self.amount) + (variance < 0 and steep)])
        return found

    def parts(self, booking: Booking) -> dict[str, Fraction]:
        """What of a booking counts for which centre, in the sign of the report."""
        value = Fraction(-booking.cents if ACCOUNTS[booking.account][1] == "revenue" else booking.cents, 100)
        return {centre: value * share for centre, share in self.successors[booking.centre].items()}


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    books = _books(rng)
    while not _clear(books):
        books = _books(rng)
    inputs = {
        "input/ledger.csv": _ledger(rng, books),
        "input/accounts.csv": "account,name,kind\n" + "".join(f"{a},{n},{k}\n" for a, (n, k) in ACCOUNTS.items()),
        "input/plan.yaml": _plan_yaml(books),
        "input/phasing.csv": "account,q1,q2,q3,q4\n"
        + "".join(f"{a},{','.join(map(str, q))}\n" for a, q in books.phasing.items()),
        "input/reorg.csv": "effective,old,new,share\n" + "".join(f"{d},{o},{n},{s}\n" for d, o, n, s in books.reorg),
    }
    values = {"until": books.until, "quarter": books.quarter, "amount": books.amount, "percent": books.percent}
    errand = "The board wants to know where we are off budget, and why."
    text = told(__file__, opening=opening(rng, persona, errand), closing=leave_inputs(rng), **values)
    constants: dict[str, object] = {"UNTIL": books.until.isoformat(), "QUARTER": books.quarter}
    constants |= {"AMOUNT": books.amount, "PERCENT": books.percent}
    return Draft(text, inputs, _oracle(books), constants, _plan(rng, constants))


def _books(rng: random.Random) -> Books:
    quarter, until = rng.choice(((2, date(2026, 6, 30)), (3, date(2026, 9, 30))))
    numbers = [f"C{n}" for n in sorted(rng.sample(range(110, 890, 10), 6))]
    rng.shuffle(numbers)
    today, split, middle = sorted(numbers[:4]), numbers[4], numbers[5]
    first, second = rng.choice(SHARES)
    reorg = [
        (date(2026, rng.choice((2, 3)), 1), split, today[0], first),
        (date(2026, rng.choice((2, 3)), 1), split, middle, second),
        (date(2026, rng.choice((4, 5)), 1), middle, today[1], rng.choice((50, 80, 100))),
    ]
    reorg[1] = (reorg[0][0], *reorg[1][1:])
    if reorg[2][3] < 100:
        reorg.append((reorg[2][0], middle, today[2], 100 - reorg[2][3]))
    plan = {
        (centre, account): rng.randint(20, 160) * 500
        for centre in today
        for account in sorted(rng.sample(sorted(ACCOUNTS), 5))
    }
    phasing = {account: rng.choice(((25, 25, 25, 25), (10, 30, 20, 40), (40, 20, 20, 20))) for account in ACCOUNTS}
    amount, percent = rng.choice((2500, 4000)), rng.choice((8, 12))
    bookings = tuple(_bookings(rng, today, split, middle, plan, phasing, tuple(reorg), until, quarter))
    return Books(until, quarter, amount, percent, plan, phasing, tuple(reorg), bookings)


def _bookings(
    rng: random.Random, today: list[str], split: str, middle: str, plan: dict[tuple[str, str], int],
    phasing: dict[str, tuple[int, int, int, int]], reorg: tuple[tuple[date, str, str, int], ...], until: date,
    quarter: int,
) -> Iterable[Booking]:  # fmt: skip
    """Two or three bookings for each planned row, some on old centres, some with issues."""
    gone = {old: effective for effective, old, _, _ in reorg}
    wanted: list[tuple[str, str, int]] = []
    for (centre, account), year in plan.items():
        target = year * sum(phasing[account][:quarter]) * rng.choice((70, 88, 95, 100, 104, 118, 140)) // 100
        parts = sorted(rng.sample(range(10, 90), rng.choice((1, 2))))
        for low, high in zip([0, *parts], [*parts, 100], strict=True):
            wanted.append((centre, account, target * (high - low) // 100 + rng.randint(-99, 99)))
    for old in (split, split, split, middle, middle, middle):
        wanted.append((old, rng.choice(sorted(ACCOUNTS)), rng.randint(90_000, 900_000)))
    wanted.append((rng.choice(today), rng.choice(sorted(ACCOUNTS)), -rng.randint(20_000, 90_000)))
    rng.shuffle(wanted)
    doc = {"erp": rng.randint(700, 900), "legacy": rng.randint(980, 1010)}
    made: list[Booking] = []
    for centre, account, cents in wanted:
        system = rng.choice(("erp", "legacy"))
        line = made[-1].line + 1 if made and made[-1].system == system and rng.random() < 0.5 else 1
        doc[system] += line == 1
        posted = date(2026, 1, 1) + timedelta(days=rng.randint(0, (until - date(2026, 1, 1)).days))
        signed = -cents if ACCOUNTS[account][1] == "revenue" else cents
        late = centre in gone and posted >= gone[centre]
        made.append(Booking(system, doc[system], line, posted, centre, account, signed, "after_reorg" if late else ""))
    yield from made
    for booking in rng.sample(made, 3):
        cents = booking.cents if rng.random() < 0.5 else booking.cents + 100
        yield Booking(
            booking.system, booking.doc, booking.line, booking.posted, booking.centre, booking.account, cents,
            "duplicate", False,
        )  # fmt: skip
    for n, issue in enumerate(("unknown_account", "unknown_centre", "unknown_centre", "", "", "")):
        centre = "C9" + str(10 + n) if issue == "unknown_centre" else rng.choice([*today, split])
        account = "6999" if issue == "unknown_account" else rng.choice(sorted(ACCOUNTS))
        posted = until - timedelta(days=rng.randint(3, 80)) if issue else until + timedelta(days=rng.randint(1, 40))
        system = rng.choice(("erp", "legacy"))
        yield Booking(
            system, doc[system] + 1 + n, 1, posted, centre, account, rng.randint(9_000, 600_000), issue, False
        )


def _clear(books: Books) -> bool:
    """Whether all statuses occur, late bookings too, and no row is near a limit or another in rank."""
    rows = books.rows
    statuses = [status for _, _, _, status in rows.values()]
    near = any(
        abs(variance) < 1
        or abs(-variance - books.amount) < 1
        or (planned and abs(-variance - planned * books.percent / 100) < 1)
        for planned, _, variance, _ in rows.values()
    )
    late = any(b.issue == "after_reorg" for b in books.bookings)
    unplanned = any(key not in books.plan and row[2] < 0 for key, row in rows.items())
    bad = sorted(variance for _, _, variance, status in rows.values() if status == "critical")
    apart = all(b - a > 1 for a, b in pairwise(bad))
    fit = not near and late and unplanned and apart and statuses.count("critical") >= 3 and "watch" in statuses
    return fit and _ranked(books)


def _ranked(books: Books) -> bool:
    """Whether the bookings behind the worst row all weigh differently."""
    _, centre, account = min((row[2], *key) for key, row in books.rows.items() if row[3] == "critical")
    weights = [abs(books.parts(b).get(centre, 0)) for b in books.bookings if b.counts and b.account == account]
    weights = [weight for weight in weights if weight]
    return len(weights) >= 3 and len(set(weights)) == len(weights)


def _ledger(rng: random.Random, books: Books) -> str:
    """The ledger as exported; repetitions stand behind what they repeat."""
    firsts = [b for b in books.bookings if b.issue != "duplicate"]
    rng.shuffle(firsts)
    for booking in books.bookings:
        if booking.issue == "duplicate":
            at = next(
                i
                for i, b in enumerate(firsts)
                if (b.system, b.doc, b.line) == (booking.system, booking.doc, booking.line)
            )
            firsts.insert(rng.randint(at + 1, len(firsts)), booking)
    lines = ["system,doc,line,posted,centre,account,amount,text"]
    for b in firsts:
        amount, day = f"{abs(b.cents) / 100:,.2f}", b.posted.isoformat()
        if b.system == "legacy":
            amount = amount.translate(str.maketrans(",.", ".,")) + ("-" if b.cents < 0 else "")
            day = f"{b.posted:%d.%m.%Y}"
        elif b.cents < 0:
            amount = f"({amount})"
        shown = f'"{amount}"' if "," in amount else amount
        lines.append(f"{b.system},{b.doc},{b.line},{day},{b.centre},{b.account},{shown},{rng.choice(TEXTS)}")
    return "\n".join(lines) + "\n"


def _plan_yaml(books: Books) -> str:
    lines = ["# plan of the year, centres as of December"]
    for centre in dict.fromkeys(centre for centre, _ in books.plan):
        lines.append(f"{centre}:")
        lines += [f'  "{account}": {year}' for (c, account), year in books.plan.items() if c == centre]
    return "\n".join(lines) + "\n"


def _two(value: Fraction) -> str:
    return f"{round(value * 100) / 100:.2f}"


def _oracle(books: Books) -> dict[str, str]:
    rows = books.rows
    table = []
    for (centre, account), (planned, actual, variance, status) in rows.items():
        percent = f"{float(round(variance / planned * 1000)) / 10:.1f}" if planned else ""
        table.append(f"{centre},{account},{_two(planned)},{_two(actual)},{_two(variance)},{percent},{status}\n")
    centres = {}
    for centre in sorted({centre for centre, _ in rows}):
        mine = {account: row for (c, account), row in rows.items() if c == centre}
        entry: dict[str, object] = {}
        for kind in ("revenue", "cost"):
            of_kind = [row for account, row in mine.items() if ACCOUNTS[account][1] == kind]
            entry[f"{kind}_plan"] = float(_two(sum((row[0] for row in of_kind), Fraction(0))))
            entry[f"{kind}_actual"] = float(_two(sum((row[1] for row in of_kind), Fraction(0))))
        entry["variance"] = float(_two(sum((row[2] for row in mine.values()), Fraction(0))))
        entry["critical"] = [account for account, row in mine.items() if row[3] == "critical"]
        centres[centre] = entry
    wrong = sorted((b.system, b.doc, b.line, b.issue) for b in books.bookings if b.issue)
    critical = sorted((row[2], key) for key, row in rows.items() if row[3] == "critical")
    statuses = [row[3] for row in rows.values()]
    total = sum((row[2] for row in rows.values()), Fraction(0))
    text = [f"# Variance to {books.until}", "", f"Critical: {len(critical)}", f"Watch: {statuses.count('watch')}"]
    text += [f"Total variance: {_two(total)}", "", "| Centre | Account | Variance |", "| --- | --- | --- |"]
    text += [f"| {centre} | {account} | {_two(variance)} |" for variance, (centre, account) in critical]
    text += ["", "## Largest bookings", "", *_largest(books, *critical[0][1])]
    return {
        "output/variance.csv": "centre,account,plan,actual,variance,percent,status\n" + "".join(table),
        "output/centres.json": json.dumps(centres, indent=2) + "\n",
        "output/issues.csv": "system,doc,line,issue\n" + "".join(f"{s},{d},{n},{i}\n" for s, d, n, i in wrong),
        "output/report.md": "\n".join(text) + "\n",
    }


def _largest(books: Books, centre: str, account: str) -> list[str]:
    parts = [
        (abs(part), f"- {b.system} {b.doc}/{b.line}: {_two(part)}")
        for b in books.bookings
        if b.counts and b.account == account
        for part in [books.parts(b).get(centre, Fraction(0))]
        if part
    ]
    return [line for _, line in sorted(parts, reverse=True)[:3]]


def _plan(rng: random.Random, constants: dict[str, object]) -> Plan:
    name = rng.choice(("variance.py", "scripts/variance.py", "work/budget.py"))
    source = script(__file__, **constants)
    steps = [
        look(rng.choice(("ls -l input", "wc -l input/*"))),
        read("input/plan.yaml", "Plan, phasing and reorganisations first."),
        read("input/phasing.csv", beside=True),
        read("input/reorg.csv", beside=True),
        read("input/accounts.csv", beside=True),
        run("head -15 input/ledger.csv; cut -d, -f1 input/ledger.csv | sort | uniq -c; cut -d, -f1-3 input/ledger.csv"
            " | sort | uniq -d", "How does the ledger write its numbers, and what is there twice?", phase="explore"),
        write(name, source, "One script, with exact fractions until the end."),
        run(f"python3 {name}", "Run it."),
        verify("cat output/variance.csv", "Do the signs make sense?"),
        verify("cat output/report.md output/issues.csv", "The report and the issues.", beside=True),
        read("output/centres.json", "And the centres.", phase="check"),
    ]  # fmt: skip
    slips = [
        Slip(1, read("input/plan.yml"), "It is plan.yaml."),
        Slip(7, run(f"cd input && python3 {name}"), "From the main folder."),
    ]
    signs = changed(source, ('-value if kinds[account] == "revenue" else value', "value"))
    chained = changed(source, ("restate(new, part)", "[(new, part)]"))
    twice = changed(source, ("if key in seen:", "if False:"))
    share = changed(source, ("steep = variance < 0 and (planned == 0 or", "steep = variance < 0 and (planned != 0 and"))
    flaws = [
        Flaw("revenue_left_below_zero", {6: rewritten(steps[6], signs)}, loss="large"),
        Flaw("second_reorganisation_missed", {6: rewritten(steps[6], chained)}, loss="large"),
        Flaw("duplicates_counted", {6: rewritten(steps[6], twice)}, loss="large"),
        Flaw("rows_without_plan_are_fine", {6: rewritten(steps[6], share)}, loss="small"),
        Flaw("report_forgotten", {7: run(f"python3 {name} && rm output/report.md", "Run it.")}, loss="small"),
    ]
    return plan(steps, slips, flaws, "The variances are in output/, with what is behind the worst one in report.md.")


FAMILY = Family(
    name="budget_variance",
    bench_category="Analysis & Reasoning",
    settings=(
        Setting("Analysis and Decision Support", "transaction and financial analysis"),
        Setting("Office and Daily Tasks", "table and record handling"),
    ),
    operations=(
        "read local files and extract relevant content",
        "compute basic statistics and aggregates",
        "filter, sort, and rank records",
        "compose updates, reports, or status summaries",
        "write structured results to local files",
    ),
    difficulty=5,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("finance and accounting", "public and non-profit", "healthcare administration"),
    skill_words=("budget", "finance", "accounting", "ledger"),
)
